/** A gateway and a sidecar as processes, with a real API server: the sidecar's tools, its calls, and failures of the gateway. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import type { Endpoint } from '../../core/catalog/router-config.ts'
import { type FixtureServer, snapshotOf } from '../meta/fixture.ts'
import { skipApiServer } from '../support/api-server.ts'
import { callTool, discoverTools, MCP_HEADERS, requestBody } from '../support/mcp.ts'
import { until } from '../support/until.ts'
import { type Sdk1Mode, type Sdk1Server, startSdk1 } from '../upstreams/http/sdk1.ts'
import { type Api, startApi } from './api.ts'
import { type RouterProcess, startRouterProcess } from './program.ts'

const skip = skipApiServer()
const START_LIMIT_MS = 120_000
const PROPAGATION_LIMIT_MS = 1_000
const TOKEN = 'only-the-gateway-knows'

let api: Api
let folder: string
before(
  async () => {
    if (skip) return
    api = await startApi()
    folder = mkdtempSync(join(tmpdir(), 'portolan-sidecar-'))
    await api.serviceAccount('agent')
    writeFileSync(join(folder, 'token'), await api.token('agent', 'portolan'))
    writeFileSync(join(folder, 'key'), 'k'.repeat(43))
  },
  { timeout: START_LIMIT_MS },
)
after(async () => {
  if (skip) return
  await api?.close()
  rmSync(folder, { recursive: true, force: true })
})

test('a sidecar offers the same tools as its gateway, and calls only servers without Secrets directly', {
  skip,
}, async t => {
  const { gateway, sidecar } = await startBoth(t, 'both')
  const found = async ({ url }: RouterProcess) =>
    (await discoverTools(url, 'echo a text')).tools.map(tool => tool.tool_path)
  assert.deepEqual(await found(sidecar), await found(gateway))
  for (const server of ['open', 'closed']) assert.equal(await echo(sidecar, server), `hello ${server}`)
  const { servers, generation } = await statusOf(gateway)
  const called = servers.filter(({ lastCall }) => lastCall !== undefined).map(({ name }) => name)
  assert.deepEqual(called, ['closed'])
  const own = await statusOf(sidecar)
  assert.equal(own.generation, generation)
  assert.deepEqual(own.missing, [])
  assert.ok(own.exposedTokens > 0 && own.tools > 0)
})

test('a change reaches the sidecar within a second', { skip }, async t => {
  const { upstreams, sidecar } = await startBoth(t, 'change')
  const before = performance.now()
  const generation = await publish('change', upstreams, 'changed')
  await until(async () => (await statusOf(sidecar)).generation === generation)
  const ms = performance.now() - before
  t.diagnostic(`${ms.toFixed(0)} ms since the start of the write`)
  assert.ok(ms < PROPAGATION_LIMIT_MS, `${ms} ms`)
  assert.equal((await discoverTools(sidecar.url, 'open:changed')).tools[0]?.tool_path, 'open:changed')
})

test('while its gateway is down, a sidecar keeps serving; afterwards it gets the changes', {
  skip,
}, async t => {
  const { upstreams, gateway, sidecar } = await startBoth(t, 'away')
  assert.equal(await gateway.end('SIGKILL'), null)
  assert.equal(await echo(sidecar, 'open'), 'hello open')
  assert.match(await echo(sidecar, 'closed'), /Server "closed" cannot be reached/)
  assert.equal((await fetch(`${sidecar.admin}/readyz`)).status, 200)
  const generation = await publish('away', upstreams, 'later')
  await startRouterProcess(t, gateway.env)
  await until(async () => (await statusOf(sidecar)).generation === generation)
  assert.equal(await echo(sidecar, 'closed'), 'hello closed')
})

test('with `sessions: perClient`, clients of a sidecar have separate sessions, and lost ones are replaced', {
  skip,
}, async t => {
  const { upstreams, sidecar } = await startBoth(t, 'sessions', 'stateful')
  const [first, second] = [await startSession(sidecar), await startSession(sidecar)]
  assert.deepEqual([await first('count'), await first('count'), await second('count')], ['1', '2', '1'])
  upstreams.closed.forget()
  assert.equal(await first('count'), '1')
})

test('the admin port of a gateway accepts tokens of its namespace, and refuses others with a reason', {
  skip,
}, async t => {
  const { gateway } = await startBoth(t, 'admin')
  await api.client.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } },
    { fieldManager: 'test' },
  )
  await api.serviceAccount('agent', 'other')
  const ask = async (token?: string, path = '/catalog') => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const answer = await fetch(gateway.admin + path, { headers })
    return `${answer.status} ${(await answer.text()).slice(0, 300)}`
  }
  assert.match(await ask(await api.token('agent', 'portolan')), /^200 \{"generation":\d+,"config":/)
  assert.match(await ask(), /^401 .*A ServiceAccount token is required/)
  assert.match(await ask('nonsense'), /^401 .*not issued by this cluster/)
  assert.match(
    await ask(await api.token('agent')),
    /^401 .*for another audience: project one for audience portolan/,
  )
  assert.match(
    await ask(await api.token('agent', 'portolan', 'other')),
    /^403 .*only pods of the namespace default/,
  )
  assert.match(await ask(undefined, '/servers/closed/mcp'), /^401 /)
  assert.match(await ask(undefined, '/catalog/servers/x'), /^401 /)
  assert.match(await ask(await api.token('agent', 'portolan'), '/catalog/servers/x'), /^404 /)
  assert.doesNotMatch(await ask(await api.token('agent', 'portolan')), /only-the-gateway-knows/)
  for (const open of ['/status', '/metrics', '/healthz']) assert.match(await ask(undefined, open), /^200 /)
  assert.match(await ask(undefined, '/debug/status'), /^404 /)
  assert.equal((await fetch(new URL('/metrics', gateway.url))).status, 404)
  assert.doesNotMatch(gateway.stderr(), /only-the-gateway-knows/)
})

test('after SIGTERM a router is not ready, still answers requests, and exits with 0', {
  skip,
}, async t => {
  const { gateway, sidecar } = await startBoth(t, 'end')
  const ended = gateway.end('SIGTERM')
  await until(async () => (await fetch(`${gateway.admin}/readyz`)).status === 503)
  const answer = await fetch(gateway.url, {
    method: 'POST',
    headers: MCP_HEADERS,
    body: requestBody('ping', {}),
  })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('connection'), 'close')
  assert.equal(await ended, 0)
  assert.equal(await sidecar.end('SIGTERM'), 0)
})

type Upstreams = { open: Sdk1Server; closed: Sdk1Server }

async function startBoth(t: TestContext, name: string, mode: Sdk1Mode = 'stateless') {
  const upstreams: Upstreams = {
    open: await startSdk1(mode, { json: true }),
    closed: await startSdk1(mode, { json: true, accepts: token => token === TOKEN }),
  }
  t.after(() => Promise.all([upstreams.open.close(), upstreams.closed.close()]))
  await publish(name, upstreams, 'first')
  const gateway = await startRouterProcess(t, {
    KUBECONFIG: api.server.kubeconfig,
    PORTOLAN_GATEWAY: name,
    PORTOLAN_NAMESPACE: 'default',
    // Remote servers of this test are on loopback.
    PORTOLAN_REMOTE_HOSTS: '127.0.0.1',
    PORTOLAN_POD: `${name}-gateway-0`,
    PORTOLAN_SESSION_KEY_FILE: join(folder, 'key'),
  })
  const sidecar = await startRouterProcess(t, {
    PORTOLAN_GATEWAY: name,
    PORTOLAN_NAMESPACE: 'default',
    // Remote servers of this test are on loopback.
    PORTOLAN_REMOTE_HOSTS: '127.0.0.1',
    PORTOLAN_POD: 'agent-0',
    PORTOLAN_CATALOG_URL: gateway.admin,
    PORTOLAN_TOKEN_FILE: join(folder, 'token'),
  })
  return { upstreams, gateway, sidecar }
}

/** `tool` is an additional tool of the server `open`. */
async function publish(gateway: string, { open, closed }: Upstreams, tool: string): Promise<number> {
  const secret = await api.secret('mcp-closed', { token: TOKEN })
  const reach = (url: string): Endpoint => ({
    kind: 'http',
    url,
    transport: 'streamable-http',
    revision: '1',
  })
  const bearer = { name: 'mcp-closed', key: 'token' }
  const server = (endpoint: Endpoint, more: string[] = []): FixtureServer => ({
    server: { endpoint, sessions: 'perClient' },
    offers: { tools: ['count', 'echo', ...more].map(name => ({ name, inputSchema: { type: 'object' } })) },
  })
  const servers = {
    open: server(reach(open.url), [tool]),
    closed: server({ ...reach(closed.url), bearer } as Endpoint),
  }
  return api.publish(gateway, snapshotOf(servers, { exposeServers: false }, 0), { 'mcp-closed': secret })
}

async function echo({ url }: RouterProcess, server: string): Promise<string> {
  const call = { tool_path: `${server}:echo`, arguments: { text: `hello ${server}` } }
  return (await callTool(url, 'execute_mcp_tool', call)).content[0]?.text ?? ''
}

/** Starts a client session; the returned function calls a tool of the server that requires the token. */
async function startSession({ url }: RouterProcess): Promise<(tool: string) => Promise<string>> {
  const send = (body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: 'POST', headers: { ...MCP_HEADERS, ...headers }, body })
  const clientInfo = { name: 'test', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const session = (await send(requestBody('initialize', params))).headers.get('mcp-session-id') ?? ''
  return async tool => {
    const call = { name: 'execute_mcp_tool', arguments: { tool_path: `closed:${tool}`, arguments: {} } }
    const answer = await send(requestBody('tools/call', call), { 'mcp-session-id': session })
    const { result } = (await answer.json()) as { result: { content: { text: string }[] } }
    return result.content[0]?.text ?? ''
  }
}

type Status = {
  generation: number
  tools: number
  exposedTokens: number
  missing: string[]
  servers: { name: string; lastCall?: string }[]
}

async function statusOf({ admin }: RouterProcess): Promise<Status> {
  return (await (await fetch(`${admin}/status`)).json()) as Status
}
