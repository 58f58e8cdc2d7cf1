/** Runs the reconcile function of a controller for the keys of its queue, and retries failures. */
import { type Clock, delay } from '../../core/async.ts'
import { deadline, waitFor } from '../../core/deadline.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import { ApiError, isConflict } from '../../core/kube/api-error.ts'
import type { Log } from '../../core/log.ts'
import type { Tracer } from '../../core/trace.ts'
import type { OperatorMetrics } from './operator-metrics.ts'
import type { Queue } from './queue.ts'

/** How long one reconcile may take before it is aborted and retried. */
export const RECONCILE_LIMIT_MS = 60_000
/** How long running reconciles may continue after the controller is stopped. */
export const DRAIN_LIMIT_MS = 10_000

/** Brings the cluster to the state that the key's object asks for; `afterMs`: reconcile again then even if nothing changed. */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<{ afterMs?: number } | undefined>

export type Controller = {
  /** One word, for metrics and the log: `server`. */
  name: string
  queue: Queue
  /** How many keys are reconciled at the same time. */
  workers: number
  reconcile: Reconcile
  /** Default: RECONCILE_LIMIT_MS. */
  limitMs?: number
}

export type ControllerContext = { log: Log; metrics: OperatorMetrics; clock: Clock; tracer?: Tracer }

/**
 * Runs until `signal` aborts; then lets running reconciles finish within DRAIN_LIMIT_MS, or aborts them at once if the abort's
 * reason is a Fault: the lease was lost, and another operator may already lead. Never rejects.
 */
export async function runController(
  controller: Controller,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { name, queue, workers } = controller
  context.metrics.watchQueue(name, () => queue.depth)
  const cutOff = new AbortController()
  const work = async () => {
    for (let key = await queue.next(signal); key !== undefined; key = await queue.next(signal)) {
      await attempt(controller, context, key, cutOff.signal)
      queue.done(key)
    }
  }
  const drained = new AbortController()
  const end = () => {
    if (signal.reason instanceof Fault) cutOff.abort(signal.reason)
    else limitDrain(context.clock, cutOff, drained.signal)
  }
  signal.addEventListener('abort', end, { once: true })
  await Promise.all(Array.from({ length: workers }, work))
  drained.abort()
}

function limitDrain(clock: Clock, cutOff: AbortController, drained: AbortSignal): void {
  const fault = new Fault('cancelled', 'The operator is stopping')
  delay(clock, DRAIN_LIMIT_MS, drained).then(
    () => cutOff.abort(fault),
    () => {},
  )
}

/** Reconciles a key once and queues its next reconcile. */
async function attempt(
  controller: Controller,
  { log, metrics, clock, tracer }: ControllerContext,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  const { name, queue, reconcile, limitMs = RECONCILE_LIMIT_MS } = controller
  const started = clock.elapsed()
  const span = tracer?.begin({
    name: `reconcile ${name}`,
    kind: 'internal',
    attributes: { 'portolan.key': key },
  })
  const limit = deadline(clock, limitMs, `Reconciling took longer than ${limitMs / 1_000} s`, signal)
  try {
    const result = await waitFor(reconcile(key, limit.signal), limit.signal)
    queue.forget(key)
    if (result?.afterMs !== undefined) queue.addAfter(key, result.afterMs)
    metrics.reconciled(name, 'ok', clock.elapsed() - started)
    span?.end()
  } catch (error) {
    metrics.reconciled(name, error instanceof Fault ? 'fault' : 'bug', clock.elapsed() - started)
    span?.end(error instanceof Fault ? error.code : 'bug')
    if (!signal.aborted) retry(controller, log, key, error)
  } finally {
    limit.clear()
  }
}

/** Queues a failed key again with backoff. Warns only of the first Fault in a series of failures, but logs every bug. */
function retry({ name, queue }: Controller, log: Log, key: string, error: unknown): void {
  const failures = queue.failures(key)
  if (error instanceof Fault) {
    const level = failures > 0 || isConflict(error) ? 'debug' : 'warn'
    log[level]({ controller: name, key, code: error.code, error: messageOf(error) }, 'reconcile failed')
  } else {
    log.error({ controller: name, key, err: error }, 'reconcile failed unexpectedly')
  }
  queue.addRateLimited(key, error instanceof ApiError ? error.retryAfterMs : undefined)
}
