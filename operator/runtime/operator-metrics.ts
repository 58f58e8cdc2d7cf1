/** The operator's metrics, in their own prom-client registry. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { type Clock, systemClock } from '../../core/async.ts'
import { createRegistry, SECONDS_BUCKETS } from '../../core/metrics.ts'
import { createObjectMetrics, type ObjectMetrics } from './object-metrics.ts'

export type ReconcileResult = 'ok' | 'fault' | 'bug'
export type WriteVerb = 'apply' | 'status' | 'create' | 'delete'

export type OperatorMetrics = ObjectMetrics & {
  registry: Registry
  reconciled(controller: string, result: ReconcileResult, durationMs: number): void
  /** `depth` is called at each scrape. */
  watchQueue(controller: string, depth: () => number): void
  /** Counts a request that may have changed an object; do not call it for events and leases. */
  wrote(kind: string, verb: WriteVerb): void
  /** Whether this operator leads. */
  leading(yes: boolean): void
  /** A server, `namespace/name`, was asleep and is started. */
  woke(server: string): void
  /** `pending`: how many texts have no vector yet; called at each scrape. */
  watchVectors(pending: () => number): void
  /** Adds to the number of computed vectors. */
  encoded(texts: number): void
  /** Whether there is an encoder; not known before it is first needed. */
  encoderAvailable(yes: boolean): void
}

export function createOperatorMetrics(clock: Clock = systemClock): OperatorMetrics {
  const registry = createRegistry('operator')
  const registers = [registry]
  const reconcile = new Histogram({
    name: 'portolan_reconcile_duration_seconds',
    help: 'Time of one reconcile, by controller and result (ok, fault, bug).',
    labelNames: ['controller', 'result'],
    buckets: SECONDS_BUCKETS,
    registers,
  })
  const writes = new Counter({
    name: 'portolan_api_writes_total',
    help: 'Requests to the API server that may have changed an object, except leases and events.',
    labelNames: ['kind', 'verb'],
    registers,
  })
  const leader = new Gauge({
    name: 'portolan_leader',
    help: '1 in the operator that leads, else 0.',
    registers,
  })
  leader.set(0)
  const discovery = new Histogram({
    name: 'portolan_discovery_duration_seconds',
    help: 'Time to read the lists of one server.',
    labelNames: ['outcome'],
    buckets: SECONDS_BUCKETS,
    registers,
  })
  const objects = createObjectMetrics(registry, clock)
  const vectors = vectorMetrics(registry)
  return {
    registry,
    watchObjects: objects.watchObjects,
    watchQueue: queueDepths(registry),
    reconciled: (controller, result, durationMs) =>
      reconcile.observe({ controller, result }, durationMs / 1_000),
    wrote: (kind, verb) => writes.inc({ kind, verb }),
    leading: yes => leader.set(yes ? 1 : 0),
    woke: objects.woke,
    ...vectors,
    discovered(record) {
      discovery.observe({ outcome: record.ok ? 'ok' : 'failed' }, record.durationMs / 1_000)
      objects.discovered(record)
    },
  }
}

function vectorMetrics(
  registry: Registry,
): Pick<OperatorMetrics, 'watchVectors' | 'encoded' | 'encoderAvailable'> {
  const registers = [registry]
  let pending = () => 0
  new Gauge({
    name: 'portolan_vectors_pending',
    help: 'Texts of tools, resources and prompts that have no sentence vector yet.',
    registers,
    collect() {
      this.set(pending())
    },
  })
  const encoded = new Counter({
    name: 'portolan_vectors_made_total',
    help: 'Sentence vectors that were computed.',
    registers,
  })
  const available = new Gauge({
    name: 'portolan_encoder_available',
    help: '1 if there is a sentence encoder, 0 if not; absent until it is first needed.',
    registers,
  })
  available.remove()
  return {
    watchVectors: current => {
      pending = current
    },
    encoded: texts => encoded.inc(texts),
    encoderAvailable: yes => available.set(yes ? 1 : 0),
  }
}

function queueDepths(registry: Registry): OperatorMetrics['watchQueue'] {
  const depths = new Map<string, () => number>()
  new Gauge({
    name: 'portolan_queue_depth',
    help: 'Keys that are due and wait for a worker.',
    labelNames: ['controller'],
    registers: [registry],
    collect() {
      for (const [controller, depth] of depths) this.set({ controller }, depth())
    },
  })
  return (controller, depth) => void depths.set(controller, depth)
}
