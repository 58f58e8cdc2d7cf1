/** Users whose lists differ (`discovery.perUser`), with a real server over HTTP: each finds, lists and calls what is in their own lists. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type AccessConfig, OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import { quantize } from '../../core/catalog/vectors.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import type { JsonObject } from '../../core/json.ts'
import { createLog } from '../../core/log.ts'
import type { RouterOptions } from '../../router/router.ts'
import { NOW, rule, send, TOKENS } from '../front/access-router.ts'
import { createSink, EVERYTHING } from '../front/audit-router.ts'
import { streamed } from '../front/post.ts'
import { startRealRouter } from '../meta/real-router.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { until } from '../support/until.ts'
import { startOwnLists } from '../upstreams/users/own-lists.ts'
import { beginAs, callAs, tokenOf } from './as-user.ts'

const NAMES = ['ada', 'ben', 'cyd']
/** What all users have, and what some have. */
const OFFERS = { '': ['weather'], ada: ['weather', 'payroll'], ben: ['ledger'], cyd: ['weather'] }

function serverFor(url: string, more: Partial<RouterServer['users']> = {}): Partial<RouterServer> {
  const selector = { matchLabels: { for: 'own' } }
  const secrets = NAMES.map(name => ({ subject: `token#${name}`, revision: '1', name: `own-${name}` }))
  return {
    endpoint: {
      kind: 'http',
      url,
      transport: 'streamable-http',
      revision: '1',
      userHeaders: [{ name: 'Authorization', key: 'token', prefix: 'Bearer ' }],
    },
    sessions: 'perUser',
    users: {
      max: 20,
      idleAfterMs: 60_000,
      ownLists: true,
      credentials: { kind: 'secrets', selector, secrets },
      ...more,
    },
  }
}

async function start(
  t: TestContext,
  access: Partial<AccessConfig> = {},
  more: Partial<RouterServer['users']> = {},
  options: Partial<RouterOptions> = {},
) {
  const own = await startOwnLists({ ...OFFERS })
  t.after(() => own.close())
  const secrets: Record<string, Record<string, string>> = {
    callers: Object.fromEntries([...NAMES, 'guest'].map(name => [name, tokenOf(name)])),
    ...Object.fromEntries(NAMES.map(name => [`own-${name}`, { token: name }])),
  }
  const secret = (name: string) => secrets[name]
  const lines: string[] = []
  const log = createLog({ level: 'trace', destination: { write: line => void lines.push(line) } })
  const config = { access: { ...OPEN_ACCESS, auth: TOKENS, ...access }, exposeServers: true }
  const servers = { own: serverFor(own.url, more) }
  const real = await startRealRouter(t, servers, config, log, { credentials: { secret }, ...options }, secret)
  own.requests.length = 0
  const origin = new URL(real.router.url).origin
  const asked = (name: string, method: string) =>
    own.requests.filter(request => request === `${name} ${method}`).length
  return { ...real, own, origin, asked, log: () => lines.join('') }
}

async function find(origin: string, user: string, query: string): Promise<string> {
  const params = { name: 'discover_mcp_tools', arguments: { query } }
  const { text } = await send(origin, { method: 'tools/call', params }, { token: tokenOf(user) })
  return text
}

async function listed(origin: string, user: string, path: string, list = 'tools'): Promise<string[]> {
  const { text } = await send(origin, { method: `${list}/list` }, { path, token: tokenOf(user) })
  const message = (text.startsWith('{') ? JSON.parse(text) : streamed(text).at(-1)) as JsonObject
  const items = (message.result as JsonObject)[list] as { name: string }[]
  return items.map(({ name }) => name)
}

test('at the first search each user finds their own tools, and none that only others have', async t => {
  const { origin } = await start(t)
  const [ada, ben, cyd] = await Promise.all(
    NAMES.map(name => find(origin, name, 'salaries of employees, bookings of the ledger, weather of a city')),
  )
  assert.match(ada ?? '', /own:payroll/)
  assert.doesNotMatch(ada ?? '', /own:ledger/)
  assert.match(ben ?? '', /own:ledger/)
  assert.doesNotMatch(ben ?? '', /own:payroll|own:weather/)
  assert.match(cyd ?? '', /own:weather/)
  assert.doesNotMatch(cyd ?? '', /own:payroll|own:ledger/)
})

test('a user can call tools that only their lists have; calls of tools that these lack are not sent to the server', async t => {
  const { origin, asked } = await start(t)
  const paid = await callAs(origin, tokenOf('ada'), 'own:payroll', { payroll_of: 'dot' })
  assert.equal(paid.text, 'payroll for ada: {"payroll_of":"dot"}')
  const wrong = await callAs(origin, tokenOf('ada'), 'own:payroll', { of: 1 })
  assert.ok(wrong.isError)
  assert.match(wrong.text, /payroll_of/)
  for (const [user, tool] of [
    ['ben', 'payroll'],
    ['ben', 'weather'],
    ['cyd', 'ledger'],
  ] as const) {
    const { isError, text } = await callAs(origin, tokenOf(user), `own:${tool}`, { [`${tool}_of`]: 'x' })
    assert.ok(isError, text)
    assert.equal(asked(user, 'tools/call'), 0)
  }
})

test('the lists of the direct profile and of the single server are those of the user', async t => {
  const { origin } = await start(t)
  assert.deepEqual(await listed(origin, 'ada', '/mcp/direct'), ['own__payroll', 'own__weather'])
  assert.deepEqual(await listed(origin, 'ben', '/mcp/direct'), ['own__ledger'])
  assert.deepEqual(await listed(origin, 'ben', '/servers/own/mcp'), ['ledger'])
  const { text } = await send(
    origin,
    { method: 'resources/list' },
    { path: '/servers/own/mcp', token: tokenOf('ben') },
  )
  assert.match(text, /book:\/\/ben/)
  assert.doesNotMatch(text, /book:\/\/all/)
})

test('the lists of a user are read once, however often they search', async t => {
  const { origin, asked, router } = await start(t)
  for (let times = 0; times < 3; times++) for (const name of NAMES) await find(origin, name, 'weather')
  for (const name of NAMES) assert.equal(asked(name, 'tools/list'), 1)
  assert.equal(router.users()[0]?.users.length, NAMES.length)
})

test('requests that need no lists of a user begin no session and do not wait', async t => {
  const { origin, own, router } = await start(t)
  own.break('ada', 'hangs')
  const token = tokenOf('ada')
  for (const [method, path] of [
    ['nonsense/foo', '/mcp'],
    ['tools/list', '/mcp'],
    ['tools/list', '/servers/other/mcp'],
    ['tools/list', '/mcp/search'],
  ] as const)
    await send(origin, { method }, { path, token })
  assert.deepEqual([own.requests, router.users()[0]?.users ?? []], [[], []])
})

test('rules apply to the lists of a user, which are not read if no rule grants that user the server', async t => {
  const tools = { allow: ['pay*'], deny: [], readOnly: false }
  const rules = [rule('ada', 'own', { tools }), rule('ben', 'other')]
  const { origin, own } = await start(t, { rules })
  assert.deepEqual(await listed(origin, 'ada', '/mcp/direct'), ['own__payroll'])
  assert.deepEqual(await listed(origin, 'ben', '/mcp/direct'), [])
  assert.ok((await callAs(origin, tokenOf('ada'), 'own:weather', { weather_of: 'x' })).isError)
  assert.ok(!own.requests.some(request => request.startsWith('ben')))
})

test('the audit names a tool of the lists of a user that rules deny, but none that these lists lack', async t => {
  const sink = createSink()
  const rules = [
    rule('ada', 'own', { tools: { allow: ['wea*'], deny: [], readOnly: false } }),
    rule('ben', 'own'),
  ]
  const access = { rules, audit: { ...EVERYTHING, events: ['Calls' as const, 'Denials' as const] } }
  const { origin, router } = await start(t, access, {}, { auditStream: () => sink.stream })
  for (const [user, tool] of [
    ['ada', 'payroll'],
    ['ada', 'weather'],
    ['ben', 'weather'],
    ['ben', 'ledger'],
  ] as const)
    await callAs(origin, tokenOf(user), `own:${tool}`, { [`${tool}_of`]: 'x' })
  await router.close(0)
  const decisions = sink.lines().map(({ decision, reason, rule: by, caller, target }) => {
    const what = [caller?.subject, decision, by ?? reason, target?.tool]
    return what.join(' ')
  })
  assert.deepEqual(decisions.sort(), [
    'ada allowed ada weather',
    'ada denied NotGranted payroll',
    'ben allowed NotFound ',
    'ben allowed ben ledger',
  ])
})

test('a user without credentials, or whose lists cannot be read, gets the shared lists', async t => {
  const { origin, own, log } = await start(t)
  own.break('ada', 'fails')
  assert.deepEqual(await listed(origin, 'guest', '/mcp/direct'), ['own__weather'])
  assert.deepEqual(await listed(origin, 'ada', '/mcp/direct'), ['own__weather'])
  assert.match(log(), /the lists of a user could not be read/)
  assert.deepEqual(await listed(origin, 'ben', '/mcp/direct'), ['own__ledger'])
})

test('a request waits two seconds for lists that do not arrive, then gets the shared ones', async t => {
  const clock = createManualClock(NOW)
  const { origin, own, asked } = await start(t, {}, {}, { clock })
  own.break('ada', 'hangs')
  const first = listed(origin, 'ada', '/mcp/direct')
  await until(() => asked('ada', 'tools/list') === 1)
  clock.advance(2_000)
  assert.deepEqual(await first, ['own__weather'])
  assert.deepEqual(await listed(origin, 'ada', '/mcp/direct'), ['own__weather'])
})

test('a user is notified of a changed list, and has the new tool', async t => {
  const { origin, own } = await start(t)
  const token = tokenOf('ada')
  const session = await beginAs(origin, token)
  const headers = { authorization: `Bearer ${token}`, 'mcp-session-id': session, accept: 'text/event-stream' }
  assert.equal((await listed(origin, 'ada', '/mcp/direct')).length, 2)
  const stop = new AbortController()
  t.after(() => stop.abort())
  const stream = await fetch(`${origin}/mcp/direct`, { headers, signal: stop.signal })
  const notified = (async () => {
    for await (const chunk of stream.body ?? [])
      if (Buffer.from(chunk).toString().includes('tools/list_changed')) return true
    return false
  })()
  await until(() => own.requests.includes('ada GET'))
  own.add('ada', 'deploy')
  assert.ok(await notified)
  assert.match(await find(origin, 'ada', 'deploy a release'), /own:deploy/)
  assert.doesNotMatch(await find(origin, 'ben', 'deploy a release'), /own:deploy/)
})

test('when the shared lists change, those of users are read again, too', async t => {
  const { origin, own, reload, asked } = await start(t)
  await find(origin, 'ada', 'weather')
  own.add('', 'deploy')
  own.add('ada', 'ledger')
  await reload()
  assert.deepEqual(await listed(origin, 'ada', '/mcp/direct'), [
    'own__ledger',
    'own__payroll',
    'own__weather',
  ])
  assert.deepEqual(await listed(origin, 'guest', '/mcp/direct'), ['own__deploy', 'own__weather'])
  assert.ok(asked('ada', 'tools/list') >= 2)
})

test('without `discovery.perUser`, no lists of users are read', async t => {
  const { origin, own } = await start(t, {}, { ownLists: undefined })
  assert.deepEqual(await listed(origin, 'ada', '/mcp/direct'), ['own__weather'])
  assert.deepEqual(own.requests, [])
})

test('the lists of a user who is ended are read again at their next request', async t => {
  const { origin, router, asked } = await start(t)
  assert.match(await find(origin, 'ada', 'salaries'), /own:payroll/)
  const [ada] = router.users()[0]?.users ?? []
  assert.ok(router.endUser('own', ada?.user ?? ''))
  assert.match(await find(origin, 'ada', 'salaries'), /own:payroll/)
  assert.equal(asked('ada', 'tools/list'), 2)
})

test("a router that gets vectors with the shared lists also finds tools of a user's own lists by meaning", async t => {
  const texts: string[] = []
  const isAbout = (text: string) => /salaries|zorblat/.test(text)
  const vectorOf = (text: string) => quantize(isAbout(text) ? [1, 0, 0.1] : [0, 1, 0.1])
  const encoder: SentenceEncoder = {
    id: 'of-a-test',
    encodeQuery: async text => vectorOf(text),
    async encodeTexts(given) {
      texts.push(...given.map(({ full }) => full))
      return given.map(({ full }) => vectorOf(full))
    },
    close: async () => {},
  }
  const semantic = { openEmbedded: async () => encoder, encodesDocuments: false, secret: () => undefined }
  const { origin, router } = await start(t, {}, {}, { semantic })
  await until(() => router.search().semantic === 'embedded')
  const first = async (user: string) =>
    /tool_path\\":\\"([^"\\]+)/.exec(await find(origin, user, 'the zorblat of everybody'))?.[1]
  await until(async () => (await first('ada')) === 'own:payroll')
  await until(() => texts.length >= 3)
  assert.ok(!texts.some(text => /bookings/.test(text)))
  assert.notEqual(await first('ben'), 'own:payroll')
})
