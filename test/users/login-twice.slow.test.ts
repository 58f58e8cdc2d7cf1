/** Logins of users whom a gateway knows by an issuer: at the issuer first, then at the upstream, at the pages of a running router. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { createLog } from '../../core/log.ts'
import { createClusterLogins } from '../../router/logins/cluster-logins.ts'
import { startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { rule } from '../front/access-router.ts'
import { logIn } from '../login/person.ts'
import { echo, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { freePort } from '../support/free-port.ts'
import { startNotes } from '../upstreams/users/http.ts'
import { startLoginServer } from '../upstreams/users/login-server.ts'

const REMOTES = { refusedAddresses: [], remoteHosts: ['127.0.0.1'] }

/** A gateway at `origin` with the server `notes`, whose authorization server is `login`, and an issuer of callers. */
async function start(t: TestContext) {
  const [issuer, login] = [await startLoginServer(), await startLoginServer()]
  const metadata = () => ({
    resource: notes.url,
    authorization_servers: [login.issuer],
    scopes_supported: ['read'],
  })
  const notes = await startNotes('2025', async () => false, metadata)
  const origin = `http://127.0.0.1:${await freePort()}`
  const log = createLog({ level: 'silent' })
  const logins = createClusterLogins({
    ...{ key: randomBytes(32), secret: () => undefined, remotes: REMOTES },
    ...{ clock: systemClock, log },
  })
  const source = createInProcessSource()
  const router = await startRouter({
    ...{ source, connect: () => upstreamOf(echo), host: '127.0.0.1', port: Number(new URL(origin).port) },
    ...{ log, logins: logins.host, remotes: REMOTES },
  })
  t.after(async () => {
    await router.close(0)
    await Promise.all([issuer, login, notes].map(one => one.close()))
  })
  const jwt = {
    ...{
      name: 'own',
      issuer: issuer.issuer,
      audiences: [`${origin}/mcp`],
      keysFrom: { discovery: true as const },
    },
    ...{ usernameClaim: 'sub', groupsClaim: 'groups', requiredScopes: ['read'] },
    ...{ clockSkewMs: 30_000, maxLifetimeMs: 3_600_000 },
  }
  const access = {
    ...OPEN_ACCESS,
    url: origin,
    auth: { anonymous: false, jwt: [jwt], revoked: [] },
    rules: [rule('all', 'notes', { subjects: [{ kind: 'User', name: 'ada', issuer: 'own' }] })],
  }
  const endpoint = {
    ...{ kind: 'http' as const, url: notes.url, transport: 'streamable-http' as const },
    ...{ revision: '1', login: { scopes: [] } },
  }
  const server = { endpoint, transport: 'http', sessions: 'perUser' } as const
  const offers = { tools: [{ name: 'about', description: 'Notes', inputSchema: { type: 'object' } }] }
  source.publish(snapshotOf({ notes: { offers, server } }, { access }, 1))
  while (!router.catalog()) await new Promise(resolve => setImmediate(resolve))
  /** Presses the button of a page; as a browser does, with its origin. */
  const press = (path: string) =>
    fetch(`${origin}/connect/${path}?issuer=own`, { method: 'POST', headers: { origin }, redirect: 'manual' })
  const open = (url: URL | string, cookie: string) => fetch(url, { headers: { cookie }, redirect: 'manual' })
  return { origin, issuer, login, notes, logins, press, open }
}

function cookieOf(response: Response): string {
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

function linkOf(html: string): URL {
  return new URL((/<a href="([^"]+)"/.exec(html)?.[1] ?? '').replaceAll('&amp;', '&'))
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

test('names that no server can have are refused before anything is sent, and the router goes on', async t => {
  const { origin, press } = await start(t)
  for (const name of ['%E2%82%AC', '%0A', 'a%3B%20b', 'A', 'x%3D1']) {
    const refused = await press(name)
    assert.deepEqual([refused.status, refused.headers.getSetCookie()], [404, []], name)
    assert.equal((await fetch(`${origin}/connect/${name}`)).status, 404)
  }
  assert.equal((await press('notes')).status, 303)
})
