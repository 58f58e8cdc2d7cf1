/** Users of servers over HTTP, of both eras: each has their own upstream sessions, which carry nobody else's calls. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { TOKENS } from '../front/access-router.ts'
import { startRealRouter } from '../meta/real-router.ts'
import { until } from '../support/until.ts'
import { startNotes } from '../upstreams/users/http.ts'
import { beginAs, callAs, tokenOf } from './as-user.ts'

const NAMES = ['ada', 'ben', 'cyd', 'dot']
const USERS = { max: 20, idleAfterMs: 60_000 }

async function start(t: TestContext, era: '2025' | '2026', names = NAMES, users = USERS) {
  const secrets = { callers: Object.fromEntries(names.map(name => [name, tokenOf(name)])) }
  const notes = await startNotes(era)
  t.after(() => notes.close())
  const servers = { notes: { url: notes.url, sessions: 'perUser', users } } as const
  const config = { access: { ...OPEN_ACCESS, auth: TOKENS } }
  const credentials = { secret: (name: string) => secrets[name as 'callers'] }
  const real = await startRealRouter(t, servers, config, undefined, { credentials })
  notes.requests.length = 0
  return { notes, router: real.router, origin: new URL(real.router.url).origin }
}

test('each user of a 2025 server has a session, which all clients of the user share and nobody else', async t => {
  const { notes, origin, router } = await start(t, '2025')
  const answers = await Promise.all(
    NAMES.map(async name => {
      const session = await beginAs(origin, tokenOf(name))
      await callAs(origin, tokenOf(name), 'notes:note', { text: `canary-${name}` }, { session })
      return callAs(origin, tokenOf(name), 'notes:about')
    }),
  )
  const sessions = new Set<string>()
  for (const [at, name] of NAMES.entries()) {
    const { raw, text } = answers[at] ?? assert.fail()
    const about = JSON.parse(text) as { session: string; notes: string[] }
    assert.deepEqual(about.notes, [`canary-${name}`])
    sessions.add(about.session)
    for (const other of NAMES) if (other !== name) assert.ok(!raw.includes(`canary-${other}`))
  }
  assert.equal(sessions.size, NAMES.length)
  assert.equal(notes.requests.filter(({ method }) => method === 'initialize').length, NAMES.length)
  const [ada] = router.users()[0]?.users ?? []
  assert.ok(router.endUser('notes', ada?.user ?? ''))
  await until(() => notes.requests.some(({ method }) => method === 'DELETE'))
})

test('each user of a 2026 server is served, and no credential of a caller goes upstream', async t => {
  const { notes, origin, router } = await start(t, '2026')
  for (const name of NAMES) {
    const { isError, text } = await callAs(origin, tokenOf(name), 'notes:about')
    assert.ok(!isError, text)
    // The answer has all headers of the call.
    assert.match(text, /"headers":.*"mcp-method":"tools\/call"/)
    assert.doesNotMatch(text, /token-of-/)
  }
  assert.equal(router.users()[0]?.users.length, NAMES.length)
  assert.ok(notes.requests.length >= NAMES.length)
  assert.doesNotMatch(JSON.stringify(notes.requests), /token-of-/)
})

test("the session id of another user is answered with 404, and gives no access to that user's notes", async t => {
  const { origin } = await start(t, '2025')
  const session = await beginAs(origin, tokenOf('ada'))
  await callAs(origin, tokenOf('ada'), 'notes:note', { text: 'canary-ada' }, { session })
  const stolen = await callAs(origin, tokenOf('ben'), 'notes:about', {}, { session })
  assert.match(stolen.text, /^404 /)
  const own = await callAs(origin, tokenOf('ben'), 'notes:about')
  assert.doesNotMatch(own.raw, /canary-ada/)
})

test('a call of an anonymous caller to a server with `sessions: perUser` is an error that gives the reason', async t => {
  const notes = await startNotes('2025')
  t.after(() => notes.close())
  const servers = { notes: { url: notes.url, sessions: 'perUser', users: USERS } } as const
  const { router } = await startRealRouter(t, servers)
  const { text, isError } = await callAs(new URL(router.url).origin, undefined, 'notes:about')
  assert.ok(isError)
  assert.match(text, /this caller is anonymous/)
})

test('200 users come and go, and no session, user or metric of them is left', async t => {
  const names = Array.from({ length: 200 }, (_, at) => `guest-${at}`)
  const { notes, origin, router } = await start(t, '2025', names, { max: 25, idleAfterMs: 50 })
  for (let at = 0; at < names.length; at += 25) {
    const round = names.slice(at, at + 25)
    for (const { isError, text } of await Promise.all(
      round.map(name => callAs(origin, tokenOf(name), 'notes:about')),
    ))
      assert.ok(!isError, text)
    await until(() => (router.users()[0]?.users.length ?? 0) === 0)
  }
  const count = (wanted: string) => notes.requests.filter(({ method }) => method === wanted).length
  await until(() => count('DELETE') >= names.length)
  assert.deepEqual([count('initialize'), count('DELETE')], [200, 200])
  assert.doesNotMatch(await router.metrics.registry.metrics(), /guest-/)
})
