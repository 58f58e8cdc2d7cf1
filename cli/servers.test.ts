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

test('each server has a line with what was negotiated, and with what is wrong', () => {
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
      'SERVER  STATE   TRANSPORT  PROTOCOL    TOOLS  TOKENS',
      'old     ready   stdio      2025-11-25      2   1,234',
      'new     ready   http       2026-07-28      2   1,234',
      'down    failed  stdio      –               –       –  Unreachable: it is away',
    ].join('\n'),
  )
})

test('those that can ask their clients nothing are named, a dozen at most', () => {
  const servers = (count: number) =>
    Array.from({ length: count }, (_, at) => line(`s${at}`, { notOffered: 'because' }))
  assert.deepEqual(notOfferedLine({ servers: [line('new')] }), [])
  assert.deepEqual(notOfferedLine({ servers: [...servers(2), line('new')] }), [
    'Shared by all clients, and so not offered elicitation, sampling and roots: s0, s1.\nWith sessions: perClient they would be.',
  ])
  assert.match(notOfferedLine({ servers: servers(14) })[0] ?? '', /: s0, .*, s11, and 2 more\./)
})
