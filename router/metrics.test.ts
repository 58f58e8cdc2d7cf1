/** Metrics have the names and bounds of docs/metrics.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../test/support/manual-clock.ts'
import { createRouterMetrics } from './metrics.ts'
import type { CallRecord } from './observer.ts'

const CALL: Omit<CallRecord, 'by'> = {
  method: 'tools/call',
  outcome: 'ok',
  totalMs: 12,
  upstreamMs: 10,
  log: true,
}
const NO_MEMBERS = () => []

test('the queue depth of each used server is the number of calls that wait at the scrape', async () => {
  const breaker = { state: 'closed', failures: 0, retryInMs: 0 } as const
  const member = { server: 'a', used: true, active: 16, waiting: 0, breaker }
  const metrics = createRouterMetrics(createManualClock(), () => [
    member,
    { ...member, server: 'b', used: false },
  ])
  member.waiting = 3
  const text = await metrics.registry.getSingleMetricAsString('portolan_upstream_queue_depth')
  assert.deepEqual(text.match(/^portolan_.*$/gm), ['portolan_upstream_queue_depth{server="a"} 3'])
})

test('active calls and breakers of used servers are read at the scrape', async () => {
  const breaker = { state: 'open', failures: 5, retryInMs: 900 } as const
  const member = { server: 'a', used: true, active: 2, waiting: 0, breaker }
  const members = () => [member, { ...member, server: 'b', used: false }]
  const { registry } = createRouterMetrics(createManualClock(), members)
  const text = await registry.metrics()
  assert.deepEqual(text.match(/^portolan_upstream_(?:calls|breaker).*$/gm), [
    'portolan_upstream_calls_held{server="a"} 0',
    'portolan_upstream_calls_active{server="a"} 2',
    'portolan_upstream_breaker_state{server="a"} 2',
  ])
})

test('upstream durations are exported for the first hundred servers, without calls that reached no server', async () => {
  const metrics = createRouterMetrics(createManualClock(), NO_MEMBERS)
  for (let at = 0; at < 120; at++) metrics.called({ ...CALL, server: `server-${at}`, tool: 'x' })
  metrics.called({ ...CALL, server: 'server-0', outcome: 'rejected', upstreamMs: 0 })
  const text = await metrics.registry.getSingleMetricAsString('portolan_upstream_duration_seconds')
  assert.equal(text.match(/_count\{/g)?.length, 101)
  assert.match(text, /_count\{server="other"\} 20$/m)
  assert.match(text, /_count\{server="server-0"\} 1$/m)
})

test('a router in a cluster exports the number of objects that it could not read, but no age of lists', async () => {
  const metrics = createRouterMetrics(createManualClock(), NO_MEMBERS, () => ['a', 'secret/b'])
  const catalogs = new Map([['a', {} as never]])
  metrics.reloaded({ generation: 1, totals: { tools: 0 }, servers: new Map(), catalogs }, 1)
  const text = await metrics.registry.metrics()
  assert.doesNotMatch(text, /^portolan_list_age_seconds\{/m)
  assert.match(text, /^portolan_catalog_missing 2$/m)
})

test('series of tools are limited, and further tools are counted as other', async () => {
  const metrics = createRouterMetrics(createManualClock(), NO_MEMBERS)
  for (let tool = 0; tool < 1_200; tool++) metrics.called({ ...CALL, server: 'big', tool: `tool-${tool}` })
  metrics.called({ ...CALL, server: 'big', tool: 'tool-7' })
  const text = await metrics.registry.getSingleMetricAsString('portolan_tool_calls_total')
  assert.equal(text.match(/^portolan_tool_calls_total\{/gm)?.length, 1_001)
  assert.match(text, /\{server="other",tool="other"\} 200$/m)
  assert.match(text, /\{server="big",tool="tool-7"\} 2$/m)
})

test('the time of the router and that of the upstream are exported separately', async () => {
  const metrics = createRouterMetrics(createManualClock(), NO_MEMBERS)
  metrics.called({ ...CALL, server: 'a', tool: 'b' })
  const text = await metrics.registry.getSingleMetricAsString('portolan_call_duration_seconds')
  assert.match(text, /_sum\{part="router"\} 0\.002$/m)
  assert.match(text, /_sum\{part="upstream"\} 0\.01$/m)
})

test('wakes that failed are exported as 0 while the first call waits, so that the first failures are an increase', async () => {
  const metrics = createRouterMetrics(createManualClock(), NO_MEMBERS)
  const counts = async () =>
    (await metrics.registry.getSingleMetricAsString('portolan_wake_wait_seconds')).match(/_count\{.*$/gm)
  metrics.waiting('a')
  assert.deepEqual(await counts(), ['_count{server="a",outcome="failed"} 0'])
  for (let call = 0; call < 3; call++) metrics.waited('a', 'failed', 60_000)
  metrics.waited('a', 'woken', 2_000)
  metrics.waiting('a')
  assert.deepEqual(await counts(), [
    '_count{server="a",outcome="failed"} 3',
    '_count{server="a",outcome="woken"} 1',
  ])
})

test('a call of an unknown tool is counted only by outcome', async () => {
  const metrics = createRouterMetrics(createManualClock(), NO_MEMBERS)
  metrics.called({ ...CALL, outcome: 'rejected' })
  assert.match(
    await metrics.registry.getSingleMetricAsString('portolan_calls_total'),
    /\{server="",outcome="rejected"\} 1$/m,
  )
})

test('the age of a list counts from its last successful discovery, until its server is removed', async () => {
  const clock = createManualClock(0)
  const metrics = createRouterMetrics(clock, NO_MEMBERS)
  const age = () => metrics.registry.getSingleMetricAsString('portolan_list_age_seconds')
  const facts = {
    generation: 1,
    totals: { tools: 0 },
    servers: new Map(),
    catalogs: new Map([['a', {} as never]]),
  }
  metrics.reloaded(facts, 1)
  clock.advance(5_000)
  assert.match(await age(), /\{server="a"\} 5$/m)
  metrics.discovered({ server: 'a', durationMs: 20, ok: true })
  clock.advance(1_000)
  assert.match(await age(), /\{server="a"\} 1$/m)
  metrics.discovered({ server: 'a', durationMs: 20, ok: false })
  assert.match(await age(), /\{server="a"\} 1$/m)
  metrics.reloaded({ ...facts, catalogs: new Map() }, 1)
  assert.doesNotMatch(await age(), /server=/)
})

test('tokens are counted by profile and kind; the difference is the saving, which may be negative', async () => {
  const metrics = createRouterMetrics(createManualClock(), NO_MEMBERS)
  metrics.tokensDirect('hierarchical', 1_000)
  metrics.tokensServed('hierarchical', 'definitions', 300)
  metrics.tokensServed('hierarchical', 'error', 20)
  metrics.tokensServed('search', 'discovery', 50)
  const text = await metrics.registry.metrics()
  assert.deepEqual(text.match(/^portolan_tokens_(?:direct|served).*$/gm), [
    'portolan_tokens_direct_total{profile="hierarchical"} 1000',
    'portolan_tokens_served_total{profile="hierarchical",kind="definitions"} 300',
    'portolan_tokens_served_total{profile="hierarchical",kind="error"} 20',
    'portolan_tokens_served_total{profile="search",kind="discovery"} 50',
  ])
  assert.deepEqual(metrics.tokens(), {
    direct: 1_000,
    served: 370,
    saved: 630,
    kinds: { definitions: 300, error: 20, discovery: 50 },
    routes: {
      hierarchical: { direct: 1_000, served: 320, saved: 680, kinds: { definitions: 300, error: 20 } },
      search: { direct: 0, served: 50, saved: -50, kinds: { discovery: 50 } },
    },
  })
})
