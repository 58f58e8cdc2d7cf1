/** What the audit stream says of logins at the pages of a router: who began, who completed, who was refused and why. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { AuditConfig } from '../../core/catalog/access-config.ts'
import { userNamed } from '../../core/mcp/user.ts'
import { send } from '../front/access-router.ts'
import { createSink, EVERYTHING, execute } from '../front/audit-router.ts'
import { callbackUrl, startQuickLoginServer } from '../upstreams/users/quick-login-server.ts'
import { cookieOf, linkOf, startLoginRouter } from './login-router.ts'

async function start(t: TestContext, audit: Partial<AuditConfig> | null = {}) {
  const login = await startQuickLoginServer()
  t.after(() => login.close())
  const sink = createSink()
  const started = await startLoginRouter(t, {
    ...{ issuer: login.issuer, url: login.url, router: { auditStream: () => sink.stream } },
    ...(audit && { access: { audit: { ...EVERYTHING, ...audit } } }),
  })
  const { press, open, router } = started
  /** Begins a login; returns the issuer's page and the cookie. */
  const begin = async (query = '') => {
    const begun = await press('notes', query)
    return { page: new URL(begun.headers.get('location') ?? ''), cookie: cookieOf(begun) }
  }
  /** Begins a login and identifies as `user`; returns the upstream's page and the cookie. */
  const identify = async (user = 'ada') => {
    const { page, cookie } = await begin()
    const known = await open(callbackUrl(page, user), cookie)
    return { page: linkOf(await known.text()), cookie: cookieOf(known) }
  }
  /** Closes the router, which writes the waiting lines. */
  const lines = async () => {
    await router.close(0)
    return sink.lines()
  }
  const steps = async () =>
    (await lines()).map(({ event, method, decision, reason, caller, target }) =>
      [event, method, decision, reason, caller?.id, target?.server].map(text => text ?? '').join(' '),
    )
  return { ...started, login, sink, begin, identify, lines, steps }
}

test('each step of a login has a line, which names the user as soon as the user is known', async t => {
  const { identify, open, login, lines, sink } = await start(t)
  const { page, cookie } = await identify()
  const back = callbackUrl(page, 'ada-at-notes')
  assert.match(await (await open(back, cookie)).text(), /Logged in to <b>notes<\/b>/)
  const found = await lines()
  const caller = { id: 'user:own:ada', issuer: 'own', subject: 'ada', kind: 'user' }
  const step = {
    ...{ stream: 'audit', v: 1, gateway: 'tools', event: 'login', decision: 'allowed' },
    ...{ address: '127.0.0.1', target: { server: 'notes' } },
  }
  assert.deepEqual(
    found.map(({ id, time, policy, ...rest }) => rest),
    [
      { ...step, method: 'login/begin', credential: { kind: 'none' } },
      {
        ...{ ...step, method: 'login/identify', caller: { ...caller, name: 'ada' } },
        credential: { kind: 'jwt' },
      },
      { ...step, method: 'login/complete', caller, credential: { kind: 'jwt' } },
    ],
  )
  const state = page.searchParams.get('state') ?? ''
  for (const secret of [...login.tokens, state, state.split('.')[1] ?? '', cookie, 'ada-at-notes'])
    assert.ok(secret.length > 10 && !sink.text().includes(secret))
})

test('a refused login has a line with the reason, and with the user if the user is known', async t => {
  const { origin, press, begin, identify, open, steps } = await start(t)
  const elsewhere = { method: 'POST', headers: { origin: 'https://evil.example' } }
  await fetch(`${origin}/connect/notes?issuer=own`, elsewhere)
  await press('nothing')
  await fetch(`${origin}/connect/notes?issuer=other`, { method: 'POST', headers: { origin } })
  await open(`${origin}/connect?state=notes.guessed&code=a`, '')
  await open(`${origin}/connect?error=access_denied`, '')
  const ben = userNamed(`${(await begin()).page.origin}#ben`)
  const forBen = await begin(`&for=${ben?.id}`)
  const passedOn = await open(callbackUrl(forBen.page, 'ada'), forBen.cookie)
  assert.match(await passedOn.text(), /This link is for somebody else/)
  const stranger = await begin()
  await open(callbackUrl(stranger.page, 'eve'), stranger.cookie)
  const mixed = await begin()
  await open(callbackUrl(mixed.page, 'ada', 'https://evil.example'), mixed.cookie)
  const { page, cookie } = await identify()
  await open(callbackUrl(page, 'ada'), cookie)
  await open(callbackUrl(page, 'ada'), cookie)
  const other = await identify()
  await open(callbackUrl(other.page, 'ada', 'https://evil.example'), other.cookie)
  const begun = 'login login/begin allowed   notes'
  const known = 'login login/identify allowed  user:own:ada notes'
  assert.deepEqual(await steps(), [
    'login login/begin unauthenticated OtherOrigin  notes',
    'login login/begin allowed   ',
    'login login/begin unauthenticated UnknownIssuer  notes',
    'login login/identify unauthenticated UnknownState  notes',
    'login login/identify unauthenticated Cancelled  ',
    begun,
    begun,
    'login login/identify denied OtherUser user:own:ada notes',
    begun,
    'login login/identify denied NotGranted user:own:eve notes',
    begun,
    'login login/identify unauthenticated OtherIssuer  notes',
    begun,
    known,
    'login login/complete allowed  user:own:ada notes',
    'login login/complete unauthenticated StateUsed  notes',
    begun,
    known,
    'login login/complete denied OtherIssuer user:own:ada notes',
  ])
})

test('a login beyond the limit of its address has a line that names the limit', async t => {
  const { press, lines } = await start(t, { events: ['Denials'] })
  const statuses = []
  for (let at = 0; at < 31; at++) statuses.push((await press('notes')).status)
  assert.deepEqual([statuses.at(-2), statuses.at(-1)], [303, 429])
  const found = await lines()
  assert.deepEqual(
    found.map(({ decision, reason, rule }) => [decision, reason, rule]),
    [['limited', 'LoginLimit', '30 logins of an address a minute']],
  )
})

test('with `onOverflow: Refuse`, the pages answer 503 while the sink is blocked, and no login begins', async t => {
  const given = { onOverflow: 'Refuse', arguments: 'Full' } as const
  const { origin, press, identify, login, sink, router } = await start(t, given)
  await identify()
  const [token] = login.tokens
  sink.block()
  const call = execute('notes:about', { text: 'a'.repeat(15_000) })
  // Up to 1 MiB of lines may wait.
  const statuses: number[] = []
  while (statuses.at(-1) !== 503 && statuses.length < 100)
    statuses.push((await send(origin, call, { token })).status)
  assert.equal(statuses.at(-1), 503, statuses.join())
  const refused = await press('notes')
  assert.deepEqual(
    [refused.status, refused.headers.get('retry-after'), refused.headers.getSetCookie()],
    [503, '1', []],
  )
  assert.match(await refused.text(), /must not go unrecorded; try again in a second/)
  assert.equal((await fetch(`${origin}/connect/notes`)).status, 503)
  sink.unblock()
  await router.close(0)
})

test('logins are not recorded without audit, or if its events are only calls', async t => {
  const without = await start(t, null)
  await without.identify()
  assert.deepEqual(await without.lines(), [])
  const calls = await start(t, { events: ['Calls'] })
  await calls.identify()
  assert.deepEqual(await calls.lines(), [])
})
