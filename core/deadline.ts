/** Waiting with an end: a signal that also fires after a time, and a promise that its caller may leave early. */
import type { Clock } from './async.ts'
import { Fault, type FaultCode } from './errors.ts'

/** The fault that an aborted signal stands for: its reason where that is one, `cancelled` otherwise. */
export function faultOf(signal: AbortSignal): Fault {
  return signal.reason instanceof Fault
    ? signal.reason
    : new Fault('cancelled', 'The call was cancelled', { cause: signal.reason })
}

export type Deadline = {
  readonly signal: AbortSignal
  /** Ends the wait: must be called once the work is done. */
  clear(): void
}

/** A signal that aborts with a Fault of `code` after `ms`, or with `parent` before that. */
export function deadline(
  clock: Clock,
  ms: number,
  message: string,
  parent?: AbortSignal,
  code: FaultCode = 'timeout',
): Deadline {
  const controller = new AbortController()
  const follow = () => controller.abort(parent?.reason)
  const timer = clock.after(ms, () =>
    controller.abort(new Fault(code, message, { retryable: true, details: { limitMs: ms } })),
  )
  if (parent?.aborted) follow()
  else parent?.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    clear() {
      timer.cancel()
      parent?.removeEventListener('abort', follow)
    },
  }
}

/** Waits for shared work; when `signal` aborts only this caller leaves, the work goes on for the others. */
export function waitFor<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(faultOf(signal))
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}
