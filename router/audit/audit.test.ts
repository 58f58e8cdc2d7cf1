/** What lines still say while a caller has many of them written. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Registry } from 'prom-client'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import { createSink, EVERYTHING, type Line } from '../../test/front/audit-router.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createAccessMetrics } from '../access-metrics.ts'
import { createAudit } from './audit.ts'
import type { Decision } from './line.ts'

const ACCESS = { audit: EVERYTHING, rules: [], rateLimits: [] }
const CONFIG = { gateway: { name: 'tools' }, access: ACCESS } as unknown as RouterConfig

const METRICS = createAccessMetrics(new Registry())

function recording(t: TestContext) {
  const sink = createSink()
  const clock = createManualClock()
  const audit = createAudit({ metrics: METRICS, clock, stream: () => sink.stream })
  t.after(() => audit.close())
  /** A denial: `caller` undefined: the credential was refused. */
  const deny = (caller: string | undefined, address: string, uri: string) => {
    const identity = caller === undefined ? undefined : { id: `token:${caller}`, kind: 'token' as const }
    const decision = {
      ...{ event: 'denial', decision: 'denied', reason: 'NotGranted', method: 'resources/read' },
      ...{ identity, from: { address, client: 'x' }, target: { server: 'docs', uri } },
    }
    audit.decided(CONFIG, decision as Decision)
  }
  const lines = async (): Promise<Line[]> => {
    await audit.close()
    return sink.lines()
  }
  return { deny, lines }
}

test('a caller with many different denials hides no other caller, nor who and where it is itself', async t => {
  const { deny, lines } = recording(t)
  for (let at = 0; at < 1_100; at++) deny('red', '192.0.2.1', `file:///${at}`)
  deny('blue', '192.0.2.2', 'file:///wanted')
  const found = await lines()
  assert.equal(
    found.reduce((sum, { count }) => sum + (count ?? 1), 0),
    1_101,
  )
  for (const { caller, address, credential } of found)
    assert.deepEqual(
      [caller?.id, credential],
      [address === '192.0.2.2' ? 'token:blue' : 'token:red', { kind: 'token' }],
    )
  const blue = found.find(({ caller }) => caller?.id === 'token:blue')
  assert.deepEqual(
    [blue?.method, blue?.target, blue?.client],
    ['resources/read', { server: 'docs', uri: 'file:///wanted' }, 'x'],
  )
  assert.equal(found.filter(({ target }) => target === undefined).at(-1)?.count, 990)
})

test('a caller with many addresses loses these, but no other caller does', async t => {
  const { deny, lines } = recording(t)
  for (let at = 0; at < 6_000; at++) deny('red', `2001:db8::${at}`, 'file:///x')
  deny('blue', '192.0.2.2', 'file:///x')
  const found = await lines()
  assert.ok(found.length < 250, `${found.length}`)
  assert.ok(found.every(({ caller }) => caller?.id !== undefined))
  assert.equal(found.find(({ caller }) => caller?.id === 'token:blue')?.address, '192.0.2.2')
})

test('many callers, of whom none is known, are written without an end to neither lines nor memory', async t => {
  const { deny, lines } = recording(t)
  for (let at = 0; at < 20_000; at++) deny(`caller-${at}`, '192.0.2.1', 'file:///x')
  for (let at = 0; at < 5_000; at++) deny(undefined, `2001:db8::${at}`, 'file:///x')
  const found = await lines()
  assert.ok(found.length < 11_000, `${found.length}`)
  assert.equal(
    found.reduce((sum, { count }) => sum + (count ?? 1), 0),
    25_000,
  )
})
