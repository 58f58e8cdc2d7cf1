/** What pods with their own router read and call at the admin port: what the rules grant to their ServiceAccounts, and nothing else. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { AccessConfig, AuthConfig } from '../../core/catalog/access-config.ts'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { createLog } from '../../core/log.ts'
import { ANONYMOUS, type Identity } from '../../core/mcp/identity.ts'
import { type RouterOptions, startRouter } from '../../router/router.ts'
import { createGatewaySource } from '../../router/source/gateway-source.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import type { Snapshot } from '../../router/source/source.ts'
import { rule, SERVERS } from '../front/access-router.ts'
import { legacy, post } from '../front/post.ts'
import { echo, type FixtureServer, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { until } from '../support/until.ts'

const ACCOUNTS: AuthConfig = {
  anonymous: false,
  jwt: [],
  serviceAccounts: { audiences: ['portolan'], namespaces: ['team'] },
  revoked: [],
}
const account = (name: string): Identity =>
  Object.freeze({
    ...ANONYMOUS,
    id: `serviceaccount:team:${name}`,
    kind: 'serviceAccount',
    subject: `system:serviceaccount:team:${name}`,
  })
const PODS: Record<string, Identity> = { red: account('red'), blue: account('blue'), none: account('none') }
const only = (name: string, server: string, more = {}) =>
  rule(name, server, { subjects: [{ kind: 'ServiceAccount', namespace: 'team', name }], ...more })
const RULES = [
  only('red', 'vermilion', { tools: { allow: ['*'], deny: ['vermilion_delete'], readOnly: false } }),
  only('blue', 'cobalt'),
]

type Options = Partial<RouterOptions> & {
  callsForSidecars?: (url: URL) => boolean
  servers?: Record<string, FixtureServer>
}

async function start(
  t: TestContext,
  access: Partial<AccessConfig>,
  { callsForSidecars, servers = SERVERS, ...options }: Options = {},
) {
  const source = createInProcessSource()
  const router = await startRouter({
    source,
    connect: () => upstreamOf(echo),
    host: '127.0.0.1',
    port: 0,
    log: createLog({ level: 'silent' }),
    admin: {
      host: '127.0.0.1',
      port: 0,
      pod: 'tools-gateway-0',
      gateway: 'tools',
      missing: () => [],
      callsForSidecars,
      authenticate: async shown =>
        PODS[shown?.replace('Bearer ', '') ?? ''] ?? { status: 401, reason: 'UnknownToken', message: 'No.' },
    },
    ...options,
  })
  t.after(() => router.close(0))
  let generation = 0
  const publish = async (changed: Partial<AccessConfig>, routers?: number) => {
    generation++
    const config = { access: { ...OPEN_ACCESS, ...changed }, routers }
    source.publish(snapshotOf(servers, config, generation))
    await until(() => router.catalog()?.generation === generation)
  }
  await publish(access)
  const origin = `http://127.0.0.1:${router.adminAddress?.port}`
  const get = async (pod: string, path = '/catalog') => {
    const answer = await fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${pod}` } })
    return { status: answer.status, text: await answer.text() }
  }
  return { router, origin, get, publish }
}

/** What a pod's own router has read once `check` says so. */
async function readAs(t: TestContext, origin: string, pod: string, check: (snapshot: Snapshot) => boolean) {
  const stop = new AbortController()
  const source = createGatewaySource({
    url: origin,
    token: async () => pod,
    log: createLog({ level: 'silent' }),
  })
  const running = source.run(stop.signal)
  t.after(() => {
    stop.abort()
    return running
  })
  for await (const snapshot of source.watch(stop.signal)) if (check(snapshot)) return snapshot
  throw new Error('the source ended')
}

const toolsOf = ({ catalogs }: Snapshot) =>
  [...catalogs.values()].flatMap(({ tools }) => tools.map(({ definition }) => definition.name))

test('a pod reads the part of the catalog that its ServiceAccount may use, and nothing of the rest or the rules', async t => {
  const limit = { per: 'Caller', counts: 'calls', limit: 9, everyMs: 1, burst: 9 } as const
  const rateLimits = [
    { ...limit, servers: ['cobalt'], tools: ['cobalt_*', 'vermilion_delete'] },
    {
      ...limit,
      servers: ['vermilion', 'cobalt'],
      tools: ['vermilion_get', 'cobalt_get', 'vermilion_delete'],
    },
  ]
  const { origin, get } = await start(t, { auth: ACCOUNTS, rules: RULES, rateLimits })
  const red = await get('red')
  assert.equal(red.status, 200)
  assert.doesNotMatch(red.text, /cobalt|delete|blue|ServiceAccount/)
  const { config, catalogs } = JSON.parse(red.text)
  assert.deepEqual(config.access, {
    ...OPEN_ACCESS,
    rateLimits: [{ ...limit, servers: ['vermilion'], tools: ['vermilion_get'] }],
  })
  assert.deepEqual(Object.keys(catalogs), ['vermilion'])
  const own = await get('red', `/catalog/servers/${catalogs.vermilion}`)
  assert.doesNotMatch(own.text, /cobalt|vermilion_delete/)
  const blue = JSON.parse((await get('blue')).text)
  assert.equal((await get('red', `/catalog/servers/${blue.catalogs.cobalt}`)).status, 404)
  assert.deepEqual(JSON.parse((await get('none')).text).config.servers, [])
  assert.deepEqual(toolsOf(await readAs(t, origin, 'red', ({ catalogs }) => catalogs.size === 1)), [
    'vermilion_get',
    'vermilion_list',
  ])
})

test("limits of a pod's own router are not divided by the number of the gateway's routers", async t => {
  const { origin, publish } = await start(t, {})
  await publish({}, 4)
  const { config } = await readAs(t, origin, 'red', ({ catalogs }) => catalogs.size === 2)
  assert.equal(config.routers, undefined)
})

test('after a change of the rules a pod reads another part of the catalog, although no server changed', async t => {
  const { origin, publish } = await start(t, { auth: ACCOUNTS, rules: RULES })
  const first = await readAs(t, origin, 'red', ({ catalogs }) => catalogs.size === 1)
  assert.equal(toolsOf(first).length, 2)
  await publish({ auth: ACCOUNTS, rules: [only('red', 'vermilion')] })
  assert.equal(toolsOf(await readAs(t, origin, 'red', ({ catalogs }) => catalogs.size === 1)).length, 3)
})

test('a pod calls what it may use at the admin port; everything else does not exist for it', async t => {
  const { origin } = await start(t, { auth: ACCOUNTS, rules: RULES })
  const call = (pod: string, server: string, name: string) =>
    post(`${origin}/servers/${server}/mcp`, legacy('tools/call', { name, arguments: {} }), {
      authorization: `Bearer ${pod}`,
    })
  assert.match((await call('red', 'vermilion', 'vermilion_get')).text, /"content"/)
  const denied = await call('red', 'vermilion', 'vermilion_delete')
  assert.equal(
    denied.text.replaceAll('delete', 'absent'),
    (await call('red', 'vermilion', 'vermilion_absent')).text,
  )
  assert.equal((await call('red', 'cobalt', 'cobalt_get')).status, 404)
  assert.equal((await call('blue', 'cobalt', 'cobalt_get')).status, 200)
})

test('a pod gets a catalog only if the gateway admits ServiceAccounts or anonymous callers', async t => {
  const { get, publish } = await start(t, { auth: { ...ACCOUNTS, serviceAccounts: undefined }, rules: RULES })
  assert.equal((await get('red')).status, 403)
  assert.match((await get('red')).text, /spec\.auth\.serviceAccounts/)
  await publish({ auth: { ...ACCOUNTS, serviceAccounts: undefined, anonymous: true } })
  assert.equal((await get('red')).status, 200)
  await publish({})
  assert.match((await get('none')).text, /"vermilion".*"cobalt"|"cobalt".*"vermilion"/)
})

test('a router that ends tells a pod that knows its catalog that nothing changed, and refuses one that knows none', async t => {
  const clock = createManualClock()
  const { router, origin } = await start(t, {}, { clock, lingerMs: 1_000 })
  const get = (known: Record<string, string> = {}) =>
    fetch(`${origin}/catalog`, { headers: { authorization: 'Bearer red', ...known } })
  const etag = (await get()).headers.get('etag') ?? ''
  let isClosed = false
  const closed = router.close(0).finally(() => {
    isClosed = true
  })
  const [knowing, fresh] = [await get({ 'if-none-match': etag }), await get()]
  const said = await fresh.text()
  for (; !isClosed; await new Promise(resolve => setImmediate(resolve))) clock.advance(1_000)
  await closed
  assert.deepEqual([knowing.status, knowing.headers.get('etag')], [304, etag])
  assert.deepEqual([fresh.status, fresh.headers.get('retry-after')], [503, '1'])
  assert.match(said, /This router ends; try again in a second/)
})

test('a pod calls a remote server through the gateway if only the gateway has a proxy for it', async t => {
  const url = 'https://far.example.com/mcp'
  const endpoint = { kind: 'http', transport: 'streamable-http', url, revision: '1' } as const
  const servers = { vermilion: { ...SERVERS.vermilion, server: { endpoint } } }
  const callsForSidecars = ({ hostname }: URL) => hostname === 'far.example.com'
  const { get } = await start(t, { auth: ACCOUNTS, rules: RULES }, { callsForSidecars, servers })
  const { config } = JSON.parse((await get('red')).text)
  assert.deepEqual(config.servers[0].endpoint, { kind: 'gateway', revision: '1' })
})
