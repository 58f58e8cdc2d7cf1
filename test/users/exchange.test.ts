/** Token exchange: a real authorization server exchanges each caller's token for one of the upstream, and the upstream verifies the tokens that it gets. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import { createLog } from '../../core/log.ts'
import { createCaller } from '../../core/mcp/caller.ts'
import { callerTokenOf } from '../../core/mcp/caller-token.ts'
import { startRealRouter } from '../meta/real-router.ts'
import { until } from '../support/until.ts'
import {
  CLIENT,
  type ExchangeServer,
  GATEWAY_AUDIENCE,
  startExchangeServer,
  UPSTREAM_AUDIENCE,
} from '../upstreams/users/exchange-server.ts'
import { startNotes } from '../upstreams/users/http.ts'
import { callAs } from './as-user.ts'

const USERS = { max: 50, idleAfterMs: 60_000, credentials: { kind: 'tokenExchange' } } as const

async function start(t: TestContext) {
  const issuing = await startExchangeServer()
  t.after(() => issuing.close())
  /** The user of each request that the server accepted, as the request's token says. */
  const subjects: string[] = []
  const revoked = new Set<string>()
  /** Subjects whose tokens the server always refuses. */
  const rejects = new Set<string>()
  const notes = await startNotes('2026', async authorization => {
    const token = authorization?.replace(/^Bearer /, '') ?? ''
    if (token === 'for-lists') return true
    const subject = await issuing.verify(token, UPSTREAM_AUDIENCE).catch(() => undefined)
    if (subject === undefined || revoked.has(token) || rejects.has(subject)) return false
    subjects.push(subject)
    return true
  })
  t.after(() => notes.close())
  const endpoint: RouterServer['endpoint'] = {
    kind: 'http',
    url: notes.url,
    transport: 'streamable-http',
    revision: '1',
    headers: [{ name: 'Authorization', value: 'Bearer for-lists' }],
    exchange: {
      tokenUrl: issuing.tokenUrl,
      clientId: CLIENT.id,
      clientSecret: { name: 'client', key: 'secret' },
      audience: UPSTREAM_AUDIENCE,
      scopes: ['read'],
    },
  }
  const jwt = {
    name: 'own',
    issuer: issuing.issuer,
    audiences: [GATEWAY_AUDIENCE],
    keysFrom: { discovery: true as const },
    usernameClaim: 'sub',
    groupsClaim: 'groups',
    requiredScopes: [],
    clockSkewMs: 30_000,
    maxLifetimeMs: 3_600_000,
  }
  const auth = { anonymous: false, jwt: [jwt], tokens: { secretName: 'callers' }, revoked: [] }
  const secrets: Record<string, Record<string, string>> = {
    client: { secret: CLIENT.secret },
    callers: { robot: ROBOT },
  }
  const lines: string[] = []
  const log = createLog({ level: 'trace', destination: { write: line => void lines.push(line) } })
  const secret = (name: string) => secrets[name]
  const real = await startRealRouter(
    t,
    { notes: { endpoint, sessions: 'perUser', users: USERS } },
    { access: { ...OPEN_ACCESS, url: 'https://mcp.example.com', auth } },
    log,
    { credentials: { secret } },
    secret,
  )
  notes.requests.length = 0
  const origin = new URL(real.router.url).origin
  return { issuing, notes, subjects, revoked, rejects, origin, real, log: () => lines.join('') }
}

const ROBOT = 'token-of-the-robot-'.padEnd(40, '0')

/** The user whose token came with the call that `notes:about` answered with this text. */
function subjectOf({ verify }: ExchangeServer, text: string): Promise<string> {
  const { headers } = JSON.parse(text) as { headers: { authorization: string } }
  return verify(headers.authorization.replace('Bearer ', ''), UPSTREAM_AUDIENCE)
}

test('each user calls with a token of their own, exchanged once for all their calls', async t => {
  const { issuing, notes, subjects, origin, real, log } = await start(t)
  const tokens = await Promise.all(['ada', 'ben'].map(name => issuing.tokenFor(name)))
  let release = () => {}
  issuing.held = new Promise(resolve => {
    release = resolve
  })
  const calls = tokens.flatMap(token =>
    Array.from({ length: 10 }, () => callAs(origin, token, 'notes:about')),
  )
  await until(() => real.router.users()[0]?.users.length === 2)
  release()
  for (const [at, { isError, text }] of (await Promise.all(calls)).entries()) {
    assert.ok(!isError, text)
    assert.equal(await subjectOf(issuing, text), at < 10 ? 'ada' : 'ben')
  }
  assert.deepEqual(issuing.exchanged.sort(), ['ada', 'ben'])
  assert.deepEqual(new Set(subjects), new Set(['ada', 'ben']))
  const metrics = await real.router.metrics.registry.metrics()
  const seen = JSON.stringify([notes.requests, real.router.users()])
  for (const token of tokens)
    for (const text of [seen, log(), metrics]) assert.ok(!text.includes(token.slice(-40)))
})

test('a renewed token of the caller is the same user, and its newest token is exchanged when the old one was revoked', async t => {
  const { issuing, notes, revoked, origin, real } = await start(t)
  const first = await issuing.tokenFor('ada')
  const renewed = await issuing.tokenFor('ada', { scope: 'mcp more' })
  const other = await issuing.tokenFor('ben')
  const call = async (token: string) => {
    const { isError, text } = await callAs(origin, token, 'notes:about')
    assert.ok(!isError, text)
  }
  await call(first)
  const { authorization = '' } = notes.requests.at(-1) ?? {}
  await call(other)
  await call(renewed)
  assert.deepEqual(issuing.subjectTokens, [first, other])
  assert.equal(notes.requests.at(-1)?.authorization, authorization)
  revoked.add(authorization.replace('Bearer ', ''))
  await call(renewed)
  assert.deepEqual(issuing.subjectTokens, [first, other, renewed])
  const users = real.router.users()[0]?.users.map(({ subject }) => subject)
  assert.deepEqual(users, [`${issuing.issuer}#ada`, `${issuing.issuer}#ben`])
})

test('when the tokens of many users are refused at once, every call continues with a new token of its own user', async t => {
  const { issuing, notes, revoked, origin } = await start(t)
  const names = Array.from({ length: 8 }, (_, at) => `user-${at}`)
  const tokens = await Promise.all(names.map(name => issuing.tokenFor(name)))
  const whose = async (at: number) => {
    const { text, isError } = await callAs(origin, tokens[at], 'notes:about')
    assert.ok(!isError, text)
    return subjectOf(issuing, text)
  }
  await Promise.all(names.map((_, at) => whose(at)))
  for (const { authorization = '' } of notes.requests)
    if (!authorization.includes('for-lists')) revoked.add(authorization.replace('Bearer ', ''))
  const calls = Array.from({ length: 40 }, (_, call) => call % names.length)
  const served = await Promise.all(calls.map(whose))
  assert.deepEqual(
    served,
    calls.map(at => names[at]),
  )
  assert.deepEqual(issuing.exchanged.length, 2 * names.length)
})

test('a server that refuses every token is not asked again and again', async t => {
  const { issuing, notes, origin, rejects } = await start(t)
  rejects.add('ada')
  const token = await issuing.tokenFor('ada')
  for (let at = 0; at < 2; at++) assert.ok((await callAs(origin, token, 'notes:about')).isError)
  assert.ok(issuing.exchanged.length <= 4, `${issuing.exchanged.length} exchanges`)
  assert.ok(notes.requests.length <= 8, `${notes.requests.length} requests`)
  assert.ok(!(await callAs(origin, await issuing.tokenFor('ben'), 'notes:about')).isError)
})

test('users with a token are still served while the authorization server is unavailable, and no other user is served with it', async t => {
  const { issuing, origin } = await start(t)
  const [ada, ben] = [await issuing.tokenFor('ada'), await issuing.tokenFor('ben')]
  assert.ok(!(await callAs(origin, ada, 'notes:about')).isError)
  // Lets the gateway verify ben's token while it can fetch the issuer's keys; there is no such tool, so nothing is exchanged.
  await callAs(origin, ben, 'notes:missing')
  await issuing.close()
  assert.ok(!(await callAs(origin, ada, 'notes:about')).isError)
  const { text, isError } = await callAs(origin, ben, 'notes:about')
  assert.ok(isError)
  assert.match(text, /cannot be reached/)
})

test('if the exchange is refused for a user, neither answer nor log contains the token, and other users are not affected', async t => {
  const { issuing, origin, log } = await start(t)
  issuing.refused.add('mallory')
  const token = await issuing.tokenFor('mallory')
  const { text, raw } = await callAs(origin, token, 'notes:about')
  assert.match(text, /refuses to give one for this caller/)
  for (const shown of [raw, log()]) assert.ok(!shown.includes(token.slice(-40)))
  assert.ok(!(await callAs(origin, await issuing.tokenFor('ada'), 'notes:about')).isError)
})

test('the error for a caller who logged in without a JSON Web Token says so, and nothing is exchanged', async t => {
  const { issuing, origin, notes } = await start(t)
  const { text, isError } = await callAs(origin, ROBOT, 'notes:about')
  assert.ok(isError)
  assert.match(text, /this caller has none/)
  assert.deepEqual([issuing.exchanged, notes.requests], [[], []])
})

test('what prints or serializes a caller does not show its token', () => {
  const caller = createCaller({ token: callerTokenOf('Bearer canary') })
  assert.equal(caller.token?.reveal(), 'canary')
  for (const shown of [
    JSON.stringify(caller),
    inspect(caller, { depth: 9, showHidden: true }),
    `${caller.token}`,
  ])
    assert.ok(!shown.includes('canary'))
})
