/** A controller with a manual clock: failures, bugs, hangs, and close. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import { ApiError } from '../../core/kube/api-error.ts'
import { createLog } from '../../core/log.ts'
import type { Tracer } from '../../core/trace.ts'
import { openTracing, tracingSettings } from '../../core/tracing.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { startCollector } from '../../test/support/otlp.ts'
import { DRAIN_LIMIT_MS, RECONCILE_LIMIT_MS, type Reconcile, runController } from './controller.ts'
import { createOperatorMetrics } from './operator-metrics.ts'
import { Queue, RETRY } from './queue.ts'

type Line = { level: string; msg: string; key?: string; error?: string; err?: { stack: string } }

function start(t: TestContext, reconcile: Reconcile, workers = 1, tracer?: Tracer) {
  const clock = createManualClock()
  const queue = new Queue({ clock, random: () => 1 })
  const lines: Line[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const metrics = createOperatorMetrics()
  const stop = new AbortController()
  const controller = { name: 'server', queue, workers, reconcile }
  const log = createLog({ level: 'debug', destination })
  const ended = runController(controller, { log, metrics, clock, tracer }, stop.signal)
  t.after(() => stop.abort())
  return { clock, queue, lines, metrics, ended, stop: (reason?: Fault) => stop.abort(reason) }
}

const turn = () => new Promise<void>(resolve => setImmediate(resolve))

test('as many keys are reconciled at once as there are workers', async t => {
  const begun: string[] = []
  const gate = Promise.withResolvers<undefined>()
  const { queue } = start(
    t,
    key => {
      begun.push(key)
      return gate.promise
    },
    2,
  )
  for (const key of ['a', 'b', 'c']) queue.add(key)
  await turn()
  assert.deepEqual(begun, ['a', 'b'])
  gate.resolve(undefined)
  await turn()
  assert.deepEqual(begun, ['a', 'b', 'c'])
})

test('a key can ask to be reconciled again later', async t => {
  let times = 0
  const { clock, queue } = start(t, async () => (++times === 1 ? { afterMs: 5_000 } : undefined))
  queue.add('a')
  await turn()
  clock.advance(4_999)
  await turn()
  assert.equal(times, 1)
  clock.advance(1)
  await turn()
  assert.equal(times, 2)
})

test('a fault is logged once for a series and retried with backoff; a success ends the series', async t => {
  const answers = [fault, fault, nothing, fault]
  const { clock, queue, lines } = start(t, async () => answers.shift()?.())
  queue.add('a')
  await turn()
  clock.advance(RETRY.firstMs)
  await turn()
  clock.advance(2 * RETRY.firstMs - 1)
  await turn()
  assert.equal(answers.length, 2)
  clock.advance(1)
  await turn()
  queue.add('a')
  await turn()
  assert.deepEqual(
    lines.map(({ level, key, error }) => [level, key, error]),
    ['warn', 'debug', 'warn'].map(level => [level, 'a', 'no answer']),
  )
})

test('each reconcile is a span with its key, and with the code of a failure', async t => {
  const collector = await startCollector()
  t.after(collector.close)
  const wanted = tracingSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint })
  const tracing = await openTracing(wanted, 'portolan-operator', createLog({ level: 'silent' }))
  const answers = [nothing, fault]
  const { queue } = start(t, async () => answers.shift()?.(), 1, tracing?.tracer)
  for (const key of ['team/a', 'team/b']) queue.add(key)
  await turn()
  await tracing?.close()
  assert.deepEqual(
    collector.spans.map(({ name, attributes }) => [name, attributes]),
    [
      ['reconcile server', { 'portolan.key': 'team/a' }],
      ['reconcile server', { 'portolan.key': 'team/b', 'error.type': 'unavailable' }],
    ],
  )
})

test('a bug is logged each time with its stack, and retried', async t => {
  let times = 0
  const { clock, queue, lines } = start(t, async () => {
    times++
    throw new TypeError('a bug')
  })
  queue.add('a')
  await turn()
  clock.advance(RETRY.firstMs)
  await turn()
  assert.equal(times, 2)
  assert.deepEqual(
    lines.map(({ level }) => level),
    ['error', 'error'],
  )
  assert.match(lines[0]?.err?.stack ?? '', /controller\.test/)
})

test('the delay is at least the Retry-After of the API server', async t => {
  let times = 0
  const { clock, queue } = start(t, async () => {
    if (++times === 1) throw new ApiError(429, 'TooManyRequests', 'busy', { retryAfterMs: 3_000 })
    return undefined
  })
  queue.add('a')
  await turn()
  clock.advance(2_999)
  await turn()
  assert.equal(times, 1)
  clock.advance(1)
  await turn()
  assert.equal(times, 2)
})

test('a conflict is tried again without a warning', async t => {
  let times = 0
  const { queue, lines } = start(t, async () => {
    if (++times === 1) throw new ApiError(409, 'Conflict', 'somebody was faster')
    return undefined
  })
  queue.add('a')
  await turn()
  assert.deepEqual(
    lines.map(({ level }) => level),
    ['debug'],
  )
})

test('a reconcile that hangs is abandoned after a minute, even if it ignores its signal', async t => {
  let times = 0
  const { clock, queue, lines } = start(t, () => {
    times++
    return new Promise(() => {})
  })
  queue.add('a')
  await turn()
  clock.advance(RECONCILE_LIMIT_MS)
  await turn()
  assert.equal(lines[0]?.error, 'Reconciling took longer than 60 s')
  clock.advance(RETRY.firstMs)
  await turn()
  assert.equal(times, 2)
})

test('closing finishes running reconciles and starts no new ones', async t => {
  const begun: string[] = []
  const gate = Promise.withResolvers<undefined>()
  let aborted = false
  const { queue, stop, ended } = start(t, (key, signal) => {
    begun.push(key)
    signal.addEventListener('abort', () => {
      aborted = true
    })
    return gate.promise
  })
  queue.add('a')
  queue.add('b')
  await turn()
  stop()
  await turn()
  gate.resolve(undefined)
  await ended
  assert.deepEqual([begun, aborted], [['a'], false])
})

test('a reconcile that does not finish in time is aborted by closing', async t => {
  const { clock, queue, stop, ended, lines } = start(t, async (_key, signal) => {
    await once(signal, 'abort')
    throw signal.reason
  })
  queue.add('a')
  await turn()
  stop()
  await turn()
  clock.advance(DRAIN_LIMIT_MS)
  await ended
  assert.deepEqual(lines, [])
})

test('running reconciles are aborted at once when the lease is lost', async t => {
  const { queue, stop, ended } = start(t, async (_key, signal) => {
    await once(signal, 'abort')
    throw signal.reason
  })
  queue.add('a')
  await turn()
  stop(new ApiError(0, 'LeaseLost', 'another one leads'))
  await ended
})

test('durations are counted by result, the depth is read at each scrape', async t => {
  const answers = [nothing, fault, bug]
  const { queue, metrics } = start(t, async () => answers.shift()?.())
  for (const key of ['a', 'b', 'c']) queue.add(key)
  for (let turns = 0; turns < 3; turns++) await turn()
  const text = await metrics.registry.metrics()
  for (const result of ['ok', 'fault', 'bug']) {
    assert.match(text, new RegExp(`_count\\{controller="server",result="${result}"\\} 1`))
  }
  assert.match(text, /portolan_queue_depth\{controller="server"\} 0/)
})

const nothing = () => undefined
const fault = (): undefined => {
  throw new Fault('unavailable', 'no answer', { retryable: true })
}
const bug = (): undefined => {
  throw new Error('a bug')
}
