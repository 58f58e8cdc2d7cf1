/** The example servers, real packages from npm and PyPI, through real MCP clients of both eras. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Client as ModernClient } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { SearchStatus } from '../../router/semantic/semantic.ts'
import { inspect } from '../support/inspector.ts'
import { discoverTools } from '../support/mcp.ts'
import { skipModel, testModelFile } from '../support/model.ts'
import { type Gateway, startGateway } from '../support/processes.ts'

/** Packages are kept here from one run to the next: only the first run tests their installation. */
const cache = join(tmpdir(), 'portolan-test-cache')
const META_TOOLS = ['discover_mcp_tools', 'execute_mcp_tool', 'list_mcp_resources', 'read_mcp_resource']
let gateway: Gateway
let endpoint: string

before(async () => {
  gateway = await startGateway(['examples/laptop'], { cache, env: { PORTOLAN_MODEL: testModelFile() } })
  endpoint = `${gateway.url}/mcp`
})
after(() => gateway?.stop())

test('a client of SDK 1.x lists four tools, finds one of a real server and calls it', async () => {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint)))
  const { tools } = await client.listTools()
  assert.deepEqual(tools.map(tool => tool.name).sort(), META_TOOLS)
  const found = await client.callTool({
    name: 'discover_mcp_tools',
    arguments: { query: 'memory create entities' },
  })
  assert.match(JSON.stringify(found.content), /memory:create_entities/)
  const sum = await client.callTool({
    name: 'execute_mcp_tool',
    arguments: { tool_path: 'everything:get-sum', arguments: { a: 19, b: 23 } },
  })
  assert.match(JSON.stringify(sum.content), /42/)
  await client.close()
})

for (const era of ['2025-11-25', '2026-07-28'] as const) {
  test(`a client of SDK 2.x speaking ${era} lists the meta-tools and calls a tool`, async () => {
    const client = await modernClient(era)
    const { tools } = await client.listTools()
    assert.deepEqual(tools.map(tool => tool.name).sort(), META_TOOLS)
    const echo = await client.callTool({
      name: 'execute_mcp_tool',
      arguments: { tool_path: 'everything:echo', arguments: { message: `hello from ${era}` } },
    })
    assert.match(JSON.stringify(echo.content), new RegExp(`hello from ${era}`))
    await client.close()
  })
}

for (const era of ['legacy', 'auto', 'modern'] as const) {
  test(`the inspector's command line in era ${era} lists strictly valid tools and calls one`, async () => {
    const listed = await inspect(endpoint, era, ['--method', 'tools/list', '--strict'])
    assert.equal(listed.code, 0, listed.stderr)
    for (const name of META_TOOLS) assert.match(listed.stdout, new RegExp(`"${name}"`))
    const called = await inspect(endpoint, era, [
      '--method',
      'tools/call',
      '--tool-name',
      'discover_mcp_tools',
      '--tool-arg',
      'query=read text file',
    ])
    assert.equal(called.code, 0, called.stderr)
    assert.match(called.stdout, /filesystem:read_text_file/)
  })
}

test('every example server has tools that are found', async () => {
  const queries: Record<string, string> = {
    filesystem: 'read text file',
    memory: 'knowledge graph create entities',
    'sequential-thinking': 'sequential thinking',
    everything: 'everything echo',
    sqlite: 'sqlite query',
  }
  if (hasUv())
    Object.assign(queries, { git: 'git status', time: 'current time timezone', fetch: 'fetch url' })
  else
    process.stderr.write(
      '\n!!! uv is not installed: the PyPI example servers were NOT tested. Install uv to run them.\n',
    )
  for (const [server, query] of Object.entries(queries)) {
    const { tools } = await discoverTools(endpoint, query)
    assert.ok(
      tools.some(tool => tool.tool_path.startsWith(`${server}:`)),
      `${query}: ${tools.map(tool => tool.tool_path).join(' ')}`,
    )
  }
})

const skip = skipModel() || (!hasUv() && 'no uv')

test('as the README says, "which day is it today" finds a tool of the time server', { skip }, async () => {
  const search = async () => {
    const status = (await (await fetch(`${gateway.url}/debug/status`)).json()) as { search: SearchStatus }
    return status.search
  }
  for (let tries = 0; ; tries++) {
    const { semantic, pending } = await search()
    if (semantic === 'embedded' && pending === 0) break
    assert.ok(tries < 300, `no vectors after half a minute: ${JSON.stringify(await search())}`)
    await wait(100)
  }
  const { tools } = await discoverTools(endpoint, 'which day is it today')
  assert.equal(tools[0]?.tool_path, 'time:get_current_time')
})

async function modernClient(era: '2025-11-25' | '2026-07-28'): Promise<ModernClient> {
  const { StreamableHTTPClientTransport: ModernTransport } = await import('@modelcontextprotocol/client')
  const client = new ModernClient(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: era === '2026-07-28' ? { pin: era } : 'legacy' } },
  )
  await client.connect(new ModernTransport(new URL(endpoint)))
  return client
}

function hasUv(): boolean {
  return spawnSync('uv', ['--version']).status === 0
}
