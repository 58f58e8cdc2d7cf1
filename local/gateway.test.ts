/** The laptop's gateway as a whole: real children, real files, calls over HTTP. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Problem } from '../core/errors.ts'
import { createLog } from '../core/log.ts'
import { createWorkspace, scriptCommand, type Workspace } from '../test/support/manifests.ts'
import { callTool, discoverTools } from '../test/support/mcp.ts'
import { startRude } from '../test/upstreams/http/rude.ts'
import { type LocalGateway, type LocalOptions, startLocal } from './gateway.ts'
import type { ServerStatusLine } from './status.ts'

const RUDE = 'test/upstreams/rude/server.mjs'
const polite = scriptCommand(RUDE, 'polite')

type Running = LocalGateway & {
  problems: Problem[]
  until(reached: () => boolean): Promise<void>
  server(name: string): ServerStatusLine
}

async function start(
  t: TestContext,
  space: Workspace,
  options: Partial<LocalOptions> = {},
): Promise<Running> {
  const problems: Problem[] = []
  const gateway = await startLocal({
    paths: [space.folder],
    host: '127.0.0.1',
    port: 0,
    watch: true,
    cacheFolder: space.cache,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' },
    log: createLog({ level: 'silent' }),
    onProgress: () => {},
    onProblems: found => problems.splice(0, problems.length, ...found),
    ...options,
  })
  t.after(() => gateway.close())
  const until = async (reached: () => boolean) => {
    for (let tries = 0; !reached(); tries++) {
      assert.ok(tries < 1_000, `not reached: ${JSON.stringify(gateway.status(), null, 1)}`)
      await wait(10)
    }
  }
  const server = (name: string) => {
    const found = gateway.status().servers.find(other => other.name === name)
    assert.ok(found, `no server ${name}`)
    return found
  }
  await until(() => gateway.ready())
  return Object.assign(gateway, { problems, until, server })
}

function workspace(t: TestContext): Workspace {
  const space = createWorkspace()
  t.after(() => space.remove())
  return space
}

const execute = (gateway: LocalGateway, tool: string, args: object = {}) =>
  callTool(gateway.url, 'execute_mcp_tool', { tool_path: tool, arguments: args })

test('after a restart the whole catalog is there at once, nothing runs, and the first call wakes the server', async t => {
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

test('a list is not taken from the cache once a file that the command names was edited', async t => {
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

test('a missing secret keeps one server out and says where it is looked for; giving it starts the server', async t => {
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
  assert.equal(gateway.problems[0]?.path, 'spec.env[0].valueFrom')
  assert.ok((gateway.problems[0]?.line ?? 0) > 0)
  assert.equal(gateway.server('plain').state, 'ready')
  mkdirSync(join(secretsFolder, 'vault'))
  writeFileSync(join(secretsFolder, 'vault', 'token'), 'hush\n')
  await gateway.until(() => gateway.server('needy').state === 'ready')
  assert.deepEqual(gateway.problems, [])
  assert.doesNotMatch(JSON.stringify(gateway.status()), /hush/)
})

test('only what changed is started again', async t => {
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

test('servers come and go with their files', async t => {
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

test('suspended servers run nothing, several gateways want a choice, and one is chosen by name', async t => {
  const space = workspace(t)
  space.write('off', { ...polite, suspend: true })
  space.write('on', polite, { labels: { team: 'a' } })
  const gatewayOf = (name: string, team: string) => ({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpGateway',
    metadata: { name },
    spec: { servers: { selector: { matchLabels: { team } } } },
  })
  writeFileSync(
    join(space.folder, 'gateways.yaml'),
    `${JSON.stringify(gatewayOf('a', 'a'))}\n---\n${JSON.stringify(gatewayOf('b', 'b'))}\n`,
  )
  const gateway = await start(t, space, { gateway: 'a' })
  assert.deepEqual(
    gateway.status().servers.map(({ name }) => name),
    ['on'],
  )
  const both = await start(t, space)
  assert.equal(both.problems[0]?.reason, 'GatewayAmbiguous')
  const none = await start(t, space, { gateway: 'c' })
  assert.equal(none.server('off').state, 'suspended')
  assert.equal(none.problems[0]?.reason, 'GatewayNotFound')
})

test('a port that is taken is a sentence that names it, and leaves nothing behind', async t => {
  const space = workspace(t)
  space.write('one', polite)
  const first = await start(t, space)
  const port = Number(new URL(first.url).port)
  await assert.rejects(start(t, space, { port }), new RegExp(`${port}.*--port`))
})
