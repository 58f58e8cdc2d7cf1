/** The whole local gateway, with real children, real files and calls over HTTP. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createTokenCounter, toolText } from '../core/tokens.ts'
import { startTestGateway } from '../test/support/local-gateway.ts'
import { createWorkspace, scriptCommand, type Workspace } from '../test/support/manifests.ts'
import { callTool, discoverTools } from '../test/support/mcp.ts'
import { until } from '../test/support/until.ts'
import { answer, startRude } from '../test/upstreams/http/rude.ts'
import type { LocalGateway, LocalOptions } from './local-gateway.ts'
import type { ServerStatusLine } from './local-status.ts'
import type { Findings } from './reloader.ts'

const RUDE = 'test/upstreams/rude/server.mjs'
const polite = scriptCommand(RUDE, 'polite')

type Running = LocalGateway & {
  findings: Findings[]
  until(reached: () => boolean): Promise<true>
  server(name: string): ServerStatusLine
}

async function start(
  t: TestContext,
  space: Workspace,
  options: Partial<LocalOptions> = {},
): Promise<Running> {
  const findings: Findings[] = []
  const gateway = await startTestGateway(space, {
    watch: true,
    onFindings: found => findings.push(found),
    ...options,
  })
  t.after(() => gateway.close())
  const untilReached = (reached: () => boolean) =>
    until(String(reached), () => {
      if (reached()) return true
      throw new Error(JSON.stringify(gateway.status(), null, 1))
    })
  const server = (name: string) => {
    const found = gateway.status().servers.find(other => other.name === name)
    assert.ok(found, `no server ${name}`)
    return found
  }
  return Object.assign(gateway, { findings, until: untilReached, server })
}

function workspace(t: TestContext): Workspace {
  const space = createWorkspace()
  t.after(() => space.remove())
  return space
}

const execute = (gateway: LocalGateway, tool: string, args: object = {}) =>
  callTool(gateway.url, 'execute_mcp_tool', { tool_path: tool, arguments: args })

test('after a restart the whole catalog is served at once, no server runs, and the first call wakes its server', async t => {
  const space = workspace(t)
  space.write('one', polite)
  const first = await start(t, space)
  assert.equal(first.server('one').state, 'ready')
  await first.close()
  const second = await start(t, space)
  const { state, tools, discovery } = second.server('one')
  assert.deepEqual([state, discovery.cached], ['asleep', true])
  assert.ok(tools > 0)
  assert.equal((await discoverTools(second.url, 'one:echo')).tools[0]?.tool_path, 'one:echo')
  assert.equal(second.server('one').state, 'asleep')
  const answer = await execute(second, 'one:echo', { text: 'awake' })
  assert.match(answer.content[0]?.text ?? '', /awake/)
  await second.until(() => second.server('one').state === 'ready' && !second.server('one').discovery.cached)
})

test('a cached list is not used after a file in the command line has changed', async t => {
  const space = workspace(t)
  const file = join(space.folder, 'server.txt')
  writeFileSync(file, 'first')
  space.write('one', scriptCommand(RUDE, 'polite', file))
  await (await start(t, space)).close()
  const same = await start(t, space)
  assert.equal(same.server('one').discovery.cached, true)
  await same.close()
  writeFileSync(file, 'second edition')
  const edited = await start(t, space)
  assert.equal(edited.server('one').discovery.cached, false)
})

test('a server with a missing secret starts once it is added, and the problem says where to add it', async t => {
  const space = workspace(t)
  const secretsFolder = mkdtempSync(join(tmpdir(), 'portolan-test-secrets-'))
  t.after(() => rmSync(secretsFolder, { recursive: true }))
  const valueFrom = { secretKeyRef: { name: 'vault', key: 'token' } }
  space.write('needy', { ...polite, env: [{ name: 'TOKEN', valueFrom }] })
  space.write('plain', polite)
  const gateway = await start(t, space, { secretsFolder })
  const { state, reason, message } = gateway.server('needy')
  assert.deepEqual([state, reason], ['notAccepted', 'SecretNotFound'])
  assert.match(message ?? '', /VAULT_TOKEN/)
  const [problem] = gateway.findings[0]?.problems ?? []
  const written = readFileSync(join(space.folder, 'needy.yaml'), 'utf8').split('\n')
  assert.equal(problem?.path, 'spec.env[0].valueFrom')
  assert.match(written[(problem?.line ?? 0) - 1] ?? '', /valueFrom/)
  assert.equal(gateway.server('plain').state, 'ready')
  mkdirSync(join(secretsFolder, 'vault'))
  writeFileSync(join(secretsFolder, 'vault', 'token'), 'hush\n')
  await gateway.until(() => gateway.server('needy').state === 'ready')
  assert.deepEqual(gateway.status().problems, [])
  assert.deepEqual(gateway.findings.at(-1)?.solved, [problem])
  assert.doesNotMatch(JSON.stringify(gateway.status()), /hush/)
})

test('only changed servers are restarted', async t => {
  const space = workspace(t)
  space.write('same', { ...polite, description: 'first' })
  space.write('other', { ...polite, env: [{ name: 'EDITION', value: '1' }] })
  const gateway = await start(t, space)
  const pidOf = async (server: string) => (await execute(gateway, `${server}:pid`)).content[0]?.text
  const before = { same: await pidOf('same'), other: await pidOf('other') }
  assert.ok(before.same && before.other)
  space.write('same', { ...polite, description: 'second', tools: { deny: ['sleep'] } })
  space.write('other', { ...polite, env: [{ name: 'EDITION', value: '2' }] })
  const toolsBefore = gateway.server('same').tools
  await gateway.until(() => gateway.server('same').tools === toolsBefore - 1)
  await gateway.until(() => gateway.server('other').state === 'ready')
  assert.equal(await pidOf('same'), before.same)
  assert.notEqual(await pidOf('other'), before.other)
})

test('servers are added and removed with their files', async t => {
  const space = workspace(t)
  space.write('one', polite)
  const gateway = await start(t, space)
  space.write('two', polite)
  await gateway.until(() => gateway.status().servers.some(({ name, tools }) => name === 'two' && tools > 0))
  space.delete('one')
  await gateway.until(() => !gateway.status().servers.some(({ name }) => name === 'one'))
  assert.equal((await execute(gateway, 'one:echo')).isError, true)
})

test('a remote server is discovered and called with its headers; 401 asks for credentials', async t => {
  const space = workspace(t)
  const seen: unknown[] = []
  const remote = await startRude({
    'tools/list': (response, { id }, request) => {
      seen.push(request.headers.authorization)
      const tools = [{ name: 'far', inputSchema: { type: 'object' } }]
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { tools } }))
    },
  })
  const locked = await startRude({ initialize: response => void response.writeHead(401).end() })
  t.after(() => Promise.all([remote.close(), locked.close()]))
  const valueFrom = { secretKeyRef: { name: 'vault', key: 'token' } }
  space.write('far', { remote: { url: remote.url }, headers: [{ name: 'Authorization', valueFrom }] })
  space.write('locked', { remote: { url: locked.url } })
  const gateway = await start(t, space, { env: { PATH: '', VAULT_TOKEN: 'Bearer hush' } })
  assert.deepEqual(seen, ['Bearer hush'])
  assert.equal(gateway.server('far').transport, 'http')
  assert.deepEqual([gateway.server('locked').state, gateway.server('locked').hidden], ['authRequired', true])
  const refused = await execute(gateway, 'locked:any')
  assert.equal(refused.isError, true)
  assert.doesNotMatch(JSON.stringify(refused), /127\.0\.0\.1/)
})

test('a new value of the refresh annotation reads the tools again, without a restart', async t => {
  const space = workspace(t)
  const tools = (name: string) => answer({ tools: [{ name, inputSchema: { type: 'object' } }] })
  const behaviours = { 'tools/list': tools('before') }
  const remote = await startRude(behaviours)
  t.after(() => remote.close())
  const write = (refresh: string) =>
    space.write('far', { remote: { url: remote.url } }, { annotations: { 'portolan.dev/refresh': refresh } })
  write('1')
  const gateway = await start(t, space)
  const names = () => gateway.server('far').toolTokens.map(({ name }) => name)
  assert.deepEqual(names(), ['before'])
  behaviours['tools/list'] = tools('after')
  write('2')
  await gateway.until(() => names()[0] === 'after')
  assert.equal(remote.log.filter(entry => entry === 'POST initialize').length, 1)
})

const gatewayOf = (name: string, team: string, spec: object = {}) =>
  JSON.stringify({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpGateway',
    metadata: { name },
    spec: { servers: { selector: { matchLabels: { team } } }, ...spec },
  })

test('suspended servers do not run; one of several gateways must be chosen by name', async t => {
  const space = workspace(t)
  space.write('off', { ...polite, suspend: true })
  space.write('on', polite, { labels: { team: 'a' } })
  writeFileSync(
    join(space.folder, 'gateways.yaml'),
    `${gatewayOf('a', 'a')}\n---\n${gatewayOf('b', 'b', { servers: {} })}\n`,
  )
  const gateway = await start(t, space, { gateway: 'a' })
  assert.deepEqual(
    gateway.status().servers.map(({ name }) => name),
    ['on'],
  )
  const all = await start(t, space, { gateway: 'b' })
  assert.equal(all.server('off').state, 'suspended')
  await assert.rejects(start(t, space), /several McpGateways .*a, b.* --gateway/)
  await assert.rejects(start(t, space, { gateway: 'c' }), /no McpGateway "c".*a, b/)
})

test('if no gateway can be chosen, the previous one is still served', async t => {
  const space = workspace(t)
  space.write('one', polite, { labels: { team: 'a' } })
  space.write('two', { ...polite, suspend: true })
  writeFileSync(join(space.folder, 'gateway.yaml'), gatewayOf('a', 'a'))
  const gateway = await start(t, space)
  writeFileSync(join(space.folder, 'other.yaml'), gatewayOf('b', 'b'))
  await gateway.until(() => gateway.status().problems.some(({ reason }) => reason === 'GatewayAmbiguous'))
  assert.deepEqual(
    gateway.status().servers.map(({ name }) => name),
    ['one'],
  )
  assert.equal(gateway.status().gateway.name, 'a')
  rmSync(join(space.folder, 'gateway.yaml'))
  await gateway.until(() => gateway.status().gateway.name === 'b')
  assert.deepEqual(gateway.status().problems, [])
})

test('a gateway with a new setting that laptops cannot enforce offers nothing, and reports the field', async t => {
  const space = workspace(t)
  space.write('one', polite, { labels: { team: 'a' } })
  const file = join(space.folder, 'gateway.yaml')
  writeFileSync(file, gatewayOf('a', 'a'))
  const gateway = await start(t, space)
  assert.notDeepEqual((await discoverTools(gateway.url, 'one:echo')).tools, [])
  const auth = { anonymous: 'Allow', serviceAccounts: {} }
  writeFileSync(file, gatewayOf('a', 'a', { auth }).replace('"auth"', '\n"auth"'))
  await gateway.until(() => gateway.server('one').state === 'notAccepted')
  const [problem] = gateway.status().problems
  assert.equal(`${problem?.path} ${problem?.line}`, 'spec.auth.serviceAccounts 2')
  await assert.rejects(discoverTools(gateway.url, 'one:echo'), /not accepted \(ClusterOnly\)/)
  writeFileSync(file, gatewayOf('a', 'a'))
  await gateway.until(() => gateway.server('one').state !== 'notAccepted' && gateway.server('one').tools > 0)
  assert.deepEqual(gateway.status().problems, [])
})

test('tokens of tools are counted with the description from the manifest, in every total', async t => {
  const space = workspace(t)
  const description = 'Says what it was told, "word for word".\nNothing else happens.'
  space.write('one', { ...polite, tools: { allow: ['echo'], overrides: { echo: { description } } } })
  const gateway = await start(t, space)
  const [shown] = (await discoverTools(gateway.url, 'one:echo')).tools
  assert.equal(shown?.description, description)
  const text = toolText({ name: 'echo', description, inputSchema: shown?.input_schema })
  const counter = createTokenCounter()
  t.after(() => counter.close())
  const [tokens = 0] = await counter.count([text])
  const status = gateway.status()
  // The status counts the parts separately; where two parts join, the sum can differ by a token.
  assert.ok(Math.abs(status.tokens.direct - tokens) <= 3, `${status.tokens.direct} for ${tokens}`)
  assert.deepEqual(status.servers[0]?.toolTokens, [{ name: 'echo', tokens: status.tokens.direct }])
  const debug = await fetch(gateway.url.replace('/mcp', '/debug/status'))
  assert.partialDeepStrictEqual(await debug.json(), { totals: { tokens: status.tokens.direct } })
})

test('only new problems are reported, and solved problems once', async t => {
  const space = workspace(t)
  const broken = (name: string) => writeFileSync(join(space.folder, `${name}.yaml`), 'kind: McpServer\n')
  broken('a')
  const gateway = await start(t, space)
  const before = gateway.status().problems.length
  broken('b')
  await gateway.until(() => gateway.status().problems.length > before)
  const second = gateway.findings.at(-1)
  assert.ok(second?.problems.every(({ file }) => file?.endsWith('b.yaml')))
  writeFileSync(join(space.folder, 'a.yaml'), '# gone\n')
  await gateway.until(() => gateway.status().problems.length === before)
  const third = gateway.findings.at(-1)
  assert.equal(third?.problems.length, 0)
  assert.equal(third?.solved.length, before)
})

test('the error for a port in use names the port and the option --port', async t => {
  const space = workspace(t)
  space.write('one', polite)
  const first = await start(t, space)
  const port = Number(new URL(first.url).port)
  await assert.rejects(start(t, space, { port }), new RegExp(`${port}.*--port`))
})
