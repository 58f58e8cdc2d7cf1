/** A router's meta-tools with real HTTP servers: discovered, searched, called, read, and removed. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { createCaller } from '../../core/mcp/caller.ts'
import { createHttpUpstream } from '../../core/mcp/client/http/streamable.ts'
import { discover } from '../../core/mcp/discovery/discover.ts'
import type { McpHandler, McpRoute } from '../../core/mcp/server/handler.ts'
import { createAccess } from '../../router/access/access.ts'
import { createLimits } from '../../router/access/limits.ts'
import { buildCatalog, type Catalog } from '../../router/catalog/catalog.ts'
import { estimateTokens } from '../../router/catalog/estimate.ts'
import { createHandler } from '../../router/meta/handler.ts'
import { createPool, type Pool } from '../../router/upstream/pool.ts'
import { sampleArguments } from '../support/sample-arguments.ts'
import { readOwn } from '../upstreams/replay/catalogs.ts'
import { type Replay, startReplay } from '../upstreams/replay/replay.ts'
import { createWitness, drive, GATEWAY, serverOf, snapshotOf, type ToolResult } from './fixture.ts'

let replay: Replay
let pool: Pool
let handler: McpHandler
let catalog: Catalog

before(async () => {
  replay = await startReplay({ catalogs: readOwn().slice(0, 5) })
  const connect = (server: { name: string }) =>
    createHttpUpstream(
      {
        url: replay.url(server.name),
        transport: 'streamable-http',
        sessions: 'shared',
        startTimeoutMs: 5_000,
      },
      { clock: systemClock },
    )
  const snapshot = snapshotOf({}, {}, 1)
  snapshot.config.servers = replay.servers.toSorted().map(name => serverOf(name, { transport: 'http' }))
  for (const server of replay.servers) {
    const upstream = connect({ name: server })
    const options = {
      server,
      clock: systemClock,
      countTokens: async (texts: readonly string[]) => texts.map(estimateTokens),
    }
    for await (const found of discover(upstream, options, AbortSignal.timeout(10_000)))
      snapshot.catalogs.set(server, found)
    await upstream.close()
  }
  catalog = drive(buildCatalog(snapshot))
  pool = createPool({ connect, clock: systemClock })
  pool.update(catalog.config)
  handler = createHandler({
    access: createAccess(),
    limits: createLimits(systemClock),
    current: () => catalog,
    pool,
    observer: createWitness().observer,
  })
})

after(async () => {
  await pool.close()
  await replay.close()
})

test('every discovered tool is found by its path and can be called', async () => {
  assert.ok(catalog.tools.length >= 20)
  for (const { path, tool, definition } of catalog.tools) {
    const found = JSON.parse((await call('discover_mcp_tools', { query: path })).content[0]?.text ?? '')
    assert.equal(found.tools[0].tool_path, path)
    const args = sampleArguments(definition.inputSchema)
    const result = await call('execute_mcp_tool', { tool_path: path, arguments: args })
    assert.deepEqual(result.structuredContent, { echo: { tool, arguments: args } })
  }
})

test('an answer is passed on as the text that the server wrote', async () => {
  const { path, definition } = catalog.tools[0] ?? assert.fail()
  const args = { tool_path: path, arguments: sampleArguments(definition.inputSchema) }
  const reply = await ask('tools/call', { name: 'execute_mcp_tool', arguments: args })
  assert.equal(reply.error ?? reply.resultText, JSON.stringify(reply.result))
})

test('resources are listed and read in every form, prompts fetched', async () => {
  const [server] = replay.servers
  const listed = JSON.parse(
    (await call('list_mcp_resources', { server: server as string })).content[0]?.text ?? '',
  )
  assert.deepEqual(
    listed.resources.map(({ uri }: { uri: string }) => uri),
    [`${server}|blob://sample/dot`, `${server}|text://sample/note`, `ui://${server}/sample/panel`],
  )
  const text = async (uri: string) => (await call('read_mcp_resource', { uri })).content[0]?.text
  assert.equal(await text(`${server}|text://sample/note`), 'text of text://sample/note')
  assert.equal(await text(`${server}+text://sample/items/7`), 'text of text://sample/items/7')
  assert.equal(await text(`ui://${server}/sample/panel`), '<p>panel</p>')
  const [blob] = (await call('read_mcp_resource', { uri: `${server}|blob://sample/dot` })).content
  assert.deepEqual(
    { ...blob, resource: { ...(blob?.resource as object), blob: '…' } },
    {
      type: 'resource',
      resource: { uri: `${server}+blob://sample/dot`, mimeType: 'image/png', blob: '…' },
    },
  )
  const prompt = await call('execute_mcp_tool', {
    prompt_path: `${server}:summarize`,
    arguments: { topic: 'x' },
  })
  assert.equal(prompt.content[0]?.text, 'user: Summarize: {"topic":"x"}')
})

test('the route of a single server passes its answers on unchanged', async () => {
  const [server] = replay.servers
  const route: McpRoute = { kind: 'server', server: server as string }
  const read = await ask('resources/read', { uri: 'ui://sample/panel' }, route)
  assert.deepEqual(read.result?.contents, [
    {
      uri: 'ui://sample/panel',
      mimeType: 'text/html;profile=mcp-app',
      text: '<p>panel</p>',
      _meta: { ui: { prefersBorder: true } },
    },
  ])
})

test('when the servers are gone, errors of calls contain no address, and the breaker opens', async () => {
  const { path, server, definition } = catalog.tools[0] ?? assert.fail()
  const args = sampleArguments(definition.inputSchema)
  const address = new URL(replay.url(server)).host
  await replay.close()
  const texts: string[] = []
  for (let time = 0; time < 7; time++) {
    const answer = await call('execute_mcp_tool', { tool_path: path, arguments: args })
    assert.equal(answer.isError, true)
    texts.push(answer.content[0]?.text ?? '')
  }
  assert.match(texts[0] ?? '', new RegExp(`[Ss]erver "${server}" (cannot be reached|ended during the call)`))
  assert.match(texts.at(-1) ?? '', /failed several times in a row/)
  for (const text of texts) assert.ok(!text.includes(address) && !text.includes('127.0.0.1'), text)
})

function ask(method: string, params: object, route: McpRoute = GATEWAY) {
  return handler.handle({
    id: 1,
    method,
    params: { ...params },
    route,
    caller: createCaller({ signal: AbortSignal.timeout(10_000) }),
    text: undefined,
  })
}

async function call(name: string, args: object): Promise<ToolResult> {
  const reply = await ask('tools/call', { name, arguments: args })
  assert.equal(reply.error, undefined)
  return reply.result as ToolResult
}
