/** The replay upstream: to clients, replayed servers look like real ones. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { systemClock } from '../../../core/async.ts'
import type { ServerCatalog } from '../../../core/catalog/server-catalog.ts'
import { connectRemote } from '../../../core/mcp/client/connect.ts'
import { discover } from '../../../core/mcp/discovery/discover.ts'
import { createTokenCounter } from '../../../core/tokens.ts'
import { RECORDED, readOwn } from './catalogs.ts'
import { startReplay } from './replay.ts'

const never = new AbortController().signal

test('all recorded servers can be discovered concurrently, with every tool and its tokens', async t => {
  const replay = await startReplay()
  const counter = createTokenCounter()
  t.after(() => Promise.all([replay.close(), counter.close()]))
  const read = async (server: string): Promise<ServerCatalog | undefined> => {
    const spec = {
      url: replay.url(server),
      transport: 'streamable-http',
      sessions: 'shared',
      startTimeoutMs: 20_000,
    } as const
    const upstream = connectRemote(spec, { clock: systemClock })
    let last: ServerCatalog | undefined
    const options = { server, clock: systemClock, countTokens: counter.count }
    for await (const catalog of discover(upstream, options, never)) last = catalog
    await upstream.close()
    return last
  }
  const catalogs = await Promise.all(replay.servers.map(read))
  for (const catalog of catalogs) assert.deepEqual([catalog?.invalid, catalog?.incomplete], [[], []])
  const tools = catalogs.flatMap(catalog => catalog?.tools ?? [])
  assert.equal(
    tools.length,
    replay.catalogs.reduce((sum, catalog) => sum + catalog.tools.length, 0),
  )
  if (!existsSync(RECORDED)) return
  assert.equal(catalogs.length, 42)
  assert.equal(tools.length, 784)
  assert.equal(
    tools.reduce((sum, tool) => sum + tool.tokens, 0),
    219_661,
  )
})

for (const transport of ['http', 'stdio'] as const)
  test(`a client of the SDK works with a replayed server over ${transport}`, async t => {
    const [catalog] = readOwn()
    assert.ok(catalog)
    const replay = await startReplay({ catalogs: [catalog] })
    const client = new Client({ name: 'test', version: '1' })
    t.after(async () => {
      await client.close()
      await replay.close()
    })
    const args = [
      '--disable-warning=ExperimentalWarning',
      join(import.meta.dirname, 'stdio.ts'),
      `own:${catalog.name}`,
    ]
    await client.connect(
      transport === 'http'
        ? new StreamableHTTPClientTransport(new URL(replay.url(catalog.name)))
        : new StdioClientTransport({ command: process.execPath, args }),
    )
    const { tools } = await client.listTools()
    assert.deepEqual(
      tools.map(tool => tool.name),
      catalog.tools.map(tool => tool.name),
    )
    const name = tools[0]?.name ?? ''
    const result = await client.callTool({ name, arguments: { a: 1 } })
    assert.deepEqual(result.structuredContent, { echo: { tool: name, arguments: { a: 1 } } })
    await assert.rejects(client.callTool({ name: 'no such tool' }), /Unknown tool/)
    const { resources } = await client.listResources()
    for (const { uri } of [...resources, { uri: 'text://sample/items/7' }])
      assert.equal((await client.readResource({ uri })).contents[0]?.uri, uri)
    assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 1)
    const prompt = await client.getPrompt({ name: 'summarize', arguments: { topic: 'tides' } })
    assert.match(JSON.stringify(prompt.messages), /tides/)
  })
