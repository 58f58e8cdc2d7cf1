/** Discovery's status for lists and for failures to read them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { Fault, type FaultCode } from '../../core/errors.ts'
import { type McpServer, type McpServerSpecInput, mcpServerSchema } from '../../crds/server.ts'
import { discoveredStatus, discoveryPart, failedStatus, isObservedAt } from './discovery-status.ts'

const NOW = Date.parse('2026-01-02T03:04:05.678Z')

function server(spec: Partial<McpServerSpecInput> = {}): McpServer {
  return mcpServerSchema.parse({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'github', generation: 3 },
    spec: { remote: { url: 'https://example.com/mcp' }, ...spec },
  })
}

function tool(name: string, tokens: number, descriptionTokens: number) {
  return { definition: { name, inputSchema: { type: 'object' } }, tokens, descriptionTokens, schemaTokens: 5 }
}

const catalog: ServerCatalog = {
  server: 'github',
  protocol: '2025-11-25',
  capabilities: {},
  tools: [tool('create', 30, 10), tool('delete', 20, 5), tool('list', 10, 2)],
  invalid: [{ name: 'bad', reason: 'no inputSchema' }],
  resources: [{ uri: 'a://b' }],
  resourceTemplates: [],
  prompts: [],
  incomplete: [{ list: 'prompts', message: 'it took too long' }],
  digest: 'abc',
}

const listOf = (served: ServerCatalog) => ({ catalog: served, approved: undefined })

test('tools and tokens are counted as the manifest offers them', () => {
  const overrides = { create: { description: 'Makes one' } }
  const offered = server({ tools: { deny: ['delete'], overrides } })
  const status = discoveredStatus(offered, listOf(catalog), new Map([['Makes one', 3]]), undefined, NOW)
  assert.deepEqual(status.tools, {
    count: 2,
    tokens: 30 - 10 + 3 + 10,
    invalid: 1,
    digest: 'abc',
    lastChanged: '2026-01-02T03:04:05Z',
  })
  const [condition] = status.conditions
  assert.deepEqual(
    [condition?.status, condition?.reason, condition?.observedGeneration],
    ['True', 'Discovered', 3],
  )
  assert.equal(
    condition?.message,
    '2 of 3 tools are offered; 1 left out: bad no inputSchema; prompts incomplete: it took too long',
  )
})

test('the status of a shared stdio server of the 2025 era says what it is not offered', () => {
  const npm = { npm: { package: 'a', version: '1.0.0' } }
  const message = (sessions: 'shared' | 'perClient', protocol: string) => {
    const stdio = server({ remote: undefined, ...npm, sessions })
    return discoveredStatus(stdio, listOf({ ...catalog, protocol }), new Map(), undefined, NOW).conditions[0]
      ?.message
  }
  const notOffered = /; not offered elicitation, sampling and roots, because several clients share a session/
  assert.match(message('shared', '2025-11-25') ?? '', notOffered)
  assert.doesNotMatch(message('perClient', '2025-11-25') ?? '', notOffered)
  assert.doesNotMatch(message('shared', '2026-07-28') ?? '', notOffered)
})

test('the time of the last change stays while the list is the same', () => {
  const first = discoveredStatus(server(), listOf(catalog), new Map(), undefined, NOW)
  const again = discoveredStatus(server(), listOf(catalog), new Map(), first, NOW + 60_000)
  assert.deepEqual(again, first)
  const changed = discoveredStatus(
    server(),
    listOf({ ...catalog, digest: 'new' }),
    new Map(),
    first,
    NOW + 60_000,
  )
  assert.equal(changed.tools?.lastChanged, '2026-01-02T03:05:05Z')
})

test('a failure has its reason, and the lists stay', () => {
  const last = discoveredStatus(server(), listOf(catalog), new Map(), undefined, NOW)
  const reasons = (connected: boolean) => (code: FaultCode) => {
    const status = failedStatus(server(), new Fault(code, 'Why\nit failed'), connected, last)
    assert.deepEqual(status.tools, last.tools)
    return status.conditions[0]?.reason
  }
  const codes: FaultCode[] = [
    'upstream_auth_required',
    'upstream_unreachable',
    'upstream_died',
    'upstream_timeout',
    'upstream_protocol',
  ]
  assert.deepEqual(codes.map(reasons(false)), [
    'AuthRequired',
    'Unreachable',
    'Unreachable',
    'StartTimeout',
    'DiscoveryFailed',
  ])
  assert.deepEqual(codes.map(reasons(true)), ['AuthRequired', ...Array(4).fill('DiscoveryFailed')])
  for (const reason of ['NotPermitted', 'Invalid']) {
    const refused = new Fault('bad_request', 'Not so', { details: { reason } })
    assert.equal(failedStatus(server(), refused, false, last).conditions[0]?.reason, reason)
  }
})

test('a failure message contains no credentials from an upstream', () => {
  const fault = new Fault(
    'upstream_protocol',
    'tools/list was refused: no such token: "Bearer abcdefgh12345"',
  )
  const [condition] = failedStatus(server(), fault, true, undefined).conditions
  assert.match(condition?.message ?? '', /tools\/list was refused/)
  assert.doesNotMatch(condition?.message ?? '', /abcdefgh/)
})

test('a bridge that does not know its new token yet is retried, without the reason AuthRequired', () => {
  const bridged = server({ remote: undefined, image: { name: 'a:1', command: ['/a'] } })
  const refused = new Fault('upstream_auth_required', 'The upstream refuses our token (401)')
  const [condition] = failedStatus(bridged, refused, false, undefined).conditions
  assert.equal(condition?.reason, 'Updating')
  assert.match(condition?.message ?? '', /new token of its Secret/)
})

test('with a pin the status says what is approved, what changed, and how to approve it', () => {
  const pinned = server({ tools: { pin: 'Hold' } })
  const changes = { digest: 'd1', changed: ['list'], added: ['new\u200B'], removed: [] }
  const list = { catalog, approved: [], changes, hidden: { findings: ['tool "x": U+202E'], count: 1 } }
  const status = discoveredStatus(pinned, list, new Map(), undefined, NOW)
  assert.deepEqual(status.tools?.changes, { ...changes, added: ['new⟨U+200B zero width space⟩'] })
  assert.match(status.tools?.approved ?? '', /^[0-9a-f]{64}$/)
  const [discovered, approved, visible] = status.conditions
  assert.equal(discovered?.status, 'True')
  assert.deepEqual(
    [approved?.type, approved?.status, approved?.reason],
    ['ToolsApproved', 'False', 'ToolsHeld'],
  )
  assert.match(approved?.message ?? '', /1 changed: list; 1 new: new⟨.*held back.*portolan.dev\/approve: d1$/)
  assert.deepEqual(
    [visible?.type, visible?.status, visible?.reason],
    ['TextVisible', 'False', 'HiddenCharacters'],
  )
  const failed = failedStatus(pinned, new Fault('upstream_timeout', 'late'), true, status)
  assert.deepEqual(failed.conditions.slice(1), status.conditions.slice(1))
  assert.deepEqual(failed.tools, status.tools)
  const warned = discoveredStatus(server({ tools: { pin: 'Warn' } }), list, new Map(), undefined, NOW)
  assert.equal(warned.conditions[1]?.reason, 'ToolsChanged')
  const again = { catalog, approved: [] }
  const good = discoveredStatus(pinned, again, new Map(), undefined, NOW)
  assert.deepEqual(
    good.conditions.map(({ type, status }) => `${type}=${status}`),
    ['ToolsDiscovered=True', 'ToolsApproved=True'],
  )
})

test('discovery reads back only its own part of a status', () => {
  const written = discoveredStatus(server(), listOf(catalog), new Map(), undefined, NOW)
  const lastTransitionTime = '2026-01-01T00:00:00Z'
  const others = { type: 'Ready', status: 'True' as const, reason: 'Ready', message: '', lastTransitionTime }
  const conditions = [others, ...written.conditions.map(condition => ({ ...condition, lastTransitionTime }))]
  assert.deepEqual(discoveryPart({ ...written, conditions }), written)
  assert.equal(discoveryPart({ conditions: [others] }), undefined)
  assert.deepEqual([isObservedAt(written, 3), isObservedAt(written, 4)], [true, false])
})

test('messages that are cut within a character are well-formed, as the API server stores them', () => {
  const long = `${'x'.repeat(999)}😀`
  const failed = failedStatus(server(), new Fault('upstream_protocol', long), true, undefined)
  const none = { ...catalog, tools: [], invalid: [] }
  const found = discoveredStatus(
    server(),
    listOf({
      ...none,
      incomplete: [{ list: 'prompts', message: long.slice('0 tools; prompts incomplete: '.length) }],
    }),
    new Map(),
    undefined,
    NOW,
  )
  for (const { conditions } of [failed, found])
    assert.deepEqual(
      conditions.map(({ message }) => [message.length, message.isWellFormed()]),
      [[1_000, true]],
    )
})
