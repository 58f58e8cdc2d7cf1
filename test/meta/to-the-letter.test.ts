/** What arrives at a server through a real router, byte by byte: numbers that no double can hold, and headers that a schema asks for. */
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { startHttpFixture } from '../conformance/fixture/http.ts'
import { modernClient } from '../support/answering-clients.ts'
import { MCP_HEADERS } from '../support/mcp.ts'
import { serve } from '../upstreams/http/serve.ts'
import { startRealRouter } from './real-router.ts'

const ARGS = '{"id":9007199254740993,"list":[12345678901234567890123,1.50,1e2],"text":"\\u00e4"}'

/** Parameters of calls, with $ in place of the arguments. */
const CALLS = {
  hierarchical: { name: 'execute_mcp_tool', arguments: { tool_path: 'raw:look', arguments: '$' } },
  search: { name: 'mcp_execute_tool', arguments: { toolName: 'look', serverId: 'raw', args: '$' } },
  registry: { name: 'execute', arguments: { tool: 'raw:look', args: '$' } },
  direct: { name: 'raw__look', arguments: '$' },
  server: { name: 'look', arguments: '$' },
} as const

for (const [way, params] of Object.entries(CALLS))
  test(`${way}: arguments arrive as they were written`, async t => {
    const bodies: string[] = []
    const { url } = await startRaw(t, bodies)
    const { at } = await startRealRouter(t, { raw: { url } })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const answer = await fetch(at(way === 'server' ? { server: 'raw' } : (way as 'direct')), {
      method: 'POST',
      headers: MCP_HEADERS,
      body: body.replace('"$"', () => ARGS),
    })
    assert.match(await answer.text(), /9007199254740993000/)
    const call = bodies.find(text => text.includes('tools/call')) ?? ''
    assert.ok(call.includes(`"arguments":${ARGS}`), call)
    assert.deepEqual((JSON.parse(call) as { params: { name: string } }).params.name, 'look')
  })

test("a 2026-07-28 server gets the headers that its tool's schema asks for, from callers that do not send them", async t => {
  const fixture = await startHttpFixture({ era: 'modern' })
  t.after(() => fixture.close())
  const { at } = await startRealRouter(t, { fixture: { url: fixture.url } })
  const client = await modernClient(t, at('hierarchical'))
  for (const [region, header] of [
    ['north', 'north'],
    [' Zürich', `=?base64?${Buffer.from(' Zürich').toString('base64')}?=`],
  ]) {
    const answer = await client.call('execute_mcp_tool', {
      tool_path: 'fixture:report',
      arguments: { region },
    })
    const { args, headers } = JSON.parse(answer) as { args: object; headers: Record<string, string> }
    assert.deepEqual([args, headers['mcp-param-region']], [{ region }, header])
  }
})

/** The smallest server: it keeps the bodies that it gets, and answers a call with a number that a double does not hold. */
async function startRaw(t: TestContext, bodies: string[]): Promise<{ url: string }> {
  const tools = [{ name: 'look', inputSchema: { type: 'object' } }]
  const results: Record<string, unknown> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'raw', version: '1' },
    },
    'tools/list': { tools },
  }
  const served = await serve(async (request, response) => {
    const text = await textOf(request)
    bodies.push(text)
    const { id, method } = (text === '' ? {} : JSON.parse(text)) as { id?: number; method?: string }
    if (id === undefined) return end(response, request.method === 'POST' ? 202 : 405, '')
    const called = '{"content":[],"structuredContent":{"exact":9007199254740993000}}'
    const result = method === 'tools/call' ? called : JSON.stringify(results[method ?? ''])
    const error = '"error":{"code":-32601,"message":"Method not found"}'
    end(response, 200, `{"jsonrpc":"2.0","id":${id},${result ? `"result":${result}` : error}}`)
  })
  t.after(served.close)
  return { url: `${served.origin}/mcp` }
}

function end(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(text)
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
