/** Logins of users whom a gateway knows by an issuer: at the issuer first, then at the upstream, at the pages of a running router. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { logIn } from '../login/person.ts'
import { startNotes } from '../upstreams/users/http.ts'
import { startLoginServer } from '../upstreams/users/login-server.ts'
import { cookieOf, linkOf, startLoginRouter } from './login-router.ts'

/** A gateway at `origin` with the server `notes`, whose authorization server is `login`, and an issuer of callers. */
async function start(t: TestContext) {
  const [issuer, login] = [await startLoginServer(), await startLoginServer()]
  const metadata = () => ({
    resource: notes.url,
    authorization_servers: [login.issuer],
    scopes_supported: ['read'],
  })
  const notes = await startNotes('2025', async () => false, metadata)
  t.after(() => Promise.all([issuer, login, notes].map(one => one.close())))
  const router = await startLoginRouter(t, { issuer: issuer.issuer, url: notes.url })
  return { ...router, issuer, login }
}

test('a user logs in at the issuer, then at the upstream, and the login is kept for that user', async t => {
  const { origin, login, logins, press, open } = await start(t)
  const begun = await press('notes')
  assert.equal(begun.status, 303, await begun.text())
  const known = await open(
    await logIn(new URL(begun.headers.get('location') ?? ''), `${origin}/connect?`),
    cookieOf(begun),
  )
  const page = await known.text()
  assert.match(page, /You are <b>http:\/\/127\.0\.0\.1:\d+#ada<\/b>/)
  assert.deepEqual(login.grants, [])
  const back = await logIn(linkOf(page), `${origin}/connect/notes/callback`, 'ada-at-notes')
  const done = await open(back, cookieOf(known))
  assert.match(await done.text(), /Logged in to <b>notes<\/b> for .*#ada/)
  assert.deepEqual(login.grants, ['authorization_code'])
  assert.equal(logins.store.list('notes').length, 1)
})

test('an answer that comes to the address of another step is refused, and its code is exchanged nowhere', async t => {
  const { origin, issuer, login, press, open } = await start(t)
  const begun = await press('notes')
  const first = await logIn(new URL(begun.headers.get('location') ?? ''), `${origin}/connect?`)
  const mixed = await open(first.href.replace('/connect?', '/connect/notes/callback?'), cookieOf(begun))
  assert.match(await mixed.text(), /begun for another server/)
  assert.deepEqual([issuer.grants, login.grants], [[], []])
  const again = await press('notes')
  const known = await open(
    await logIn(new URL(again.headers.get('location') ?? ''), `${origin}/connect?`),
    cookieOf(again),
  )
  const second = await logIn(linkOf(await known.text()), `${origin}/connect/notes/callback`)
  const other = await open(second.href.replace('/connect/notes/callback', '/connect'), cookieOf(known))
  assert.match(await other.text(), /begun for another server/)
  assert.deepEqual(login.grants, [])
})

test('names that no server can have are refused before anything is sent, and the router keeps running', async t => {
  const { origin, press } = await start(t)
  for (const name of ['%E2%82%AC', '%0A', 'a%3B%20b', 'A', 'x%3D1']) {
    const refused = await press(name)
    assert.deepEqual([refused.status, refused.headers.getSetCookie()], [404, []], name)
    assert.equal((await fetch(`${origin}/connect/${name}`)).status, 404)
  }
  assert.equal((await press('notes')).status, 303)
})
