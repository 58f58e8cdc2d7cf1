/** The era of a body, and what is read from it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import fc from 'fast-check'
import type { JsonObject } from '../../json.ts'
import type { RequestHeaders } from './headers.ts'
import { MAX_BATCH_MESSAGES, readMessage } from './read-message.ts'

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const ENVELOPE = { [VERSION]: '2026-07-28', [CAPABILITIES]: {} }

function request(method: string, params?: JsonObject): JsonObject {
  return { jsonrpc: '2.0', id: 1, method, params }
}

test('a body without an envelope is of the older era, whatever else is in its params', () => {
  const body = request('tools/call', { name: 'a', _meta: { progressToken: 1 } })
  const read = readMessage({ 'mcp-protocol-version': '2025-06-18' }, body)
  assert.deepEqual(read, {
    kind: 'request',
    era: 'legacy',
    id: 1,
    method: 'tools/call',
    params: body.params,
  })
})

test('the metadata of the newer era is removed, and the rest of _meta stays', () => {
  const declared = { [CAPABILITIES]: { elicitation: { url: {} }, experimental: { x: {} } } }
  const level = { 'io.modelcontextprotocol/logLevel': 'warning' }
  const meta = { ...ENVELOPE, ...declared, ...level, progressToken: 'p', traceparent: '00-1' }
  const params = { name: 'a', _meta: meta, inputResponses: {}, requestState: 's' }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'a' }
  const read = readMessage(headers, request('tools/call', params))
  assert.ok(read.kind === 'request')
  assert.equal(read.era, 'modern')
  assert.deepEqual(read.params, {
    name: 'a',
    inputResponses: {},
    requestState: 's',
    _meta: { progressToken: 'p', traceparent: '00-1' },
  })
  assert.deepEqual(read.capabilities, { elicitation: { url: {} } })
  assert.equal(read.logLevel, 'warning')
})

test('what is not a JSON-RPC message is refused, with its id if the id is valid', () => {
  const cases: [unknown, string | number | null][] = [
    [null, null],
    [7, null],
    [{}, null],
    [{ jsonrpc: '1.0', id: 3, method: 'x' }, 3],
    [{ jsonrpc: '2.0', id: 3, method: 7 }, 3],
    [{ jsonrpc: '2.0', id: 'a', method: 'x', params: [1] }, 'a'],
    [{ jsonrpc: '2.0', id: null, method: 'x' }, null],
    [{ jsonrpc: '2.0', id: 1.5, method: 'x' }, null],
    [{ jsonrpc: '2.0', id: 2 ** 53, method: 'x' }, null],
    [{ jsonrpc: '2.0', id: {}, method: 'x' }, null],
    [{ jsonrpc: '2.0', id: 4 }, 4],
  ]
  for (const [body, id] of cases) {
    const read = readMessage({}, body)
    assert.ok(read.kind === 'rejected', JSON.stringify(body))
    assert.deepEqual([read.status, read.error.code, read.id], [400, -32600, id])
  }
})

test('only a batch with more messages than the limit is refused', () => {
  const batch = Array(MAX_BATCH_MESSAGES).fill(request('ping'))
  assert.equal(readMessage({}, batch).kind, 'batch')
  assert.equal(readMessage({}, [...batch, request('ping')]).kind, 'rejected')
})

test('for any mix of headers and metadata, requests are refused with the same status and code as by the 2.x SDK', async () => {
  const versions = ['2026-07-28', '2025-11-25', '2025-06-18', '2027-01-01']
  const headers = fc.record(
    {
      'mcp-protocol-version': fc.constantFrom(...versions),
      'mcp-method': fc.constantFrom('tools/call', 'tools/list', 'initialize'),
      'mcp-name': fc.constantFrom('a', 'b', '=?base64?YQ==?=', '=?base64?!?='),
    },
    { requiredKeys: [] },
  )
  const meta = fc.record(
    {
      [VERSION]: fc.constantFrom<unknown>(...versions, 7),
      [CAPABILITIES]: fc.constantFrom<unknown>({}, { sampling: {} }, 'none'),
      'io.modelcontextprotocol/clientInfo': fc.constantFrom<unknown>({ name: 'a', version: '1' }, {}, 'x'),
      'io.modelcontextprotocol/logLevel': fc.constantFrom('info', 'loud'),
      progressToken: fc.constantFrom(1),
    },
    { requiredKeys: [] },
  )
  const params = fc.record({ name: fc.constantFrom('a', 'b'), _meta: meta }, { requiredKeys: [] })
  const method = fc.constantFrom('tools/call', 'tools/list', 'initialize', 'notifications/cancelled')
  const body = fc.record(
    { jsonrpc: fc.constant('2.0'), id: fc.constant(1), method, params },
    { requiredKeys: ['jsonrpc', 'method'] },
  )
  const sdk = createMcpHandler(() => {
    const server = new McpServer({ name: 'sdk', version: '1' })
    for (const name of ['a', 'b']) server.registerTool(name, {}, () => ({ content: [] }))
    return server
  })
  await fc.assert(
    fc.asyncProperty(headers, body, async (given, message) => {
      const answer = await sdk.fetch(sdkRequest(given, message))
      const text = await answer.text()
      const refused = answer.status >= 400 ? [answer.status, JSON.parse(text).error.code] : undefined
      assert.deepEqual(refusalOf(given, message), refused)
    }),
    { numRuns: 300, seed: 20260728 },
  )
})

function refusalOf(headers: RequestHeaders, body: unknown): [number, number] | undefined {
  const read = readMessage(headers, body)
  return read.kind === 'rejected' ? [read.status, read.error.code] : undefined
}

function sdkRequest(headers: Record<string, string | undefined>, body: unknown): Request {
  const accept = 'application/json, text/event-stream'
  const given = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: [...given, ['accept', accept], ['content-type', 'application/json']],
    body: JSON.stringify(body),
  })
}
