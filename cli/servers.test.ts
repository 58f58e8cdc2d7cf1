/** The table of servers as people see it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createColors } from 'picocolors'
import type { ServerStatusLine } from '../local/local-status.ts'
import { notOfferedLine, serverTable } from './servers.ts'

const plain = createColors(false)

function line(name: string, changes: Partial<ServerStatusLine> = {}): ServerStatusLine {
  return {
    name,
    transport: 'stdio',
    state: 'ready',
    hidden: false,
    tools: 2,
    tokens: 1_234,
    invalid: [],
    resources: 0,
    resourceTemplates: 0,
    prompts: 0,
    incomplete: [],
    protocol: '2025-11-25',
    discovery: { at: '2026-01-01T00:00:00.000Z', cached: false },
    toolTokens: [],
    ...changes,
  }
}

test('each server has a line with its transport, revision and problem', () => {
  const servers = [
    line('old', { notOffered: 'because' }),
    line('new', { transport: 'http', protocol: '2026-07-28' }),
    line('down', {
      state: 'failed',
      reason: 'Unreachable',
      message: 'it is away',
      protocol: undefined,
      discovery: { cached: false },
    }),
  ]
  assert.equal(
    serverTable({ servers }, plain),
    [
      'SERVER  STATE        TRANSPORT  PROTOCOL    TOOLS  TOKENS',
      'old     Ready        stdio      2025-11-25      2   1,234',
      'new     Ready        http       2026-07-28      2   1,234',
      'down    Unreachable  stdio      –               –       –  it is away',
    ].join('\n'),
  )
})

test('states are named as in a cluster', () => {
  const unread = { discovery: { cached: false } }
  const servers = [
    line('a', { state: 'asleep' }),
    line('b', { state: 'starting' }),
    line('c', { state: 'starting', ...unread }),
    line('d', { state: 'starting', transport: 'http' }),
    line('e', { state: 'authRequired', reason: 'NeedsLogin', message: 'open the page' }),
    line('f', { state: 'suspended' }),
    line('g', { state: 'notAccepted', reason: 'ClusterOnly', message: 'remove it' }),
    line('h', { state: 'failed' }),
  ]
  const words = serverTable({ servers }, plain)
    .split('\n')
    .map(text => text.slice(8, 21).trim())
  assert.deepEqual(words, [
    'STATE',
    ...['Asleep', 'Waking', 'Starting', 'Starting', 'AuthRequired', 'Suspended', 'NotAccepted', 'Failed'],
  ])
  assert.match(serverTable({ servers }, plain), /NeedsLogin: open the page/)
})

test('servers whose questions are refused are listed, at most a dozen', () => {
  const servers = (count: number) =>
    Array.from({ length: count }, (_, at) => line(`s${at}`, { notOffered: 'because' }))
  assert.deepEqual(notOfferedLine({ servers: [line('new')] }), [])
  assert.deepEqual(notOfferedLine({ servers: [...servers(2), line('new')] }), [
    'Not offered elicitation, sampling and roots, because several clients (all, or those of one user) share a session: s0, s1.\nWith sessions: perClient in their manifests, they are offered these.',
  ])
  assert.match(notOfferedLine({ servers: servers(14) })[0] ?? '', /: s0, .*, s11, and 2 more\./)
})
