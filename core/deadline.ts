/** Bounded waiting: a signal that also aborts after a time, and a caller that can stop waiting for shared work. */
import type { Clock } from './async.ts'
import { Fault, type FaultCode } from './errors.ts'

/** The fault of an aborted signal: its reason if that is a Fault, otherwise `cancelled`. */
export function faultOf(signal: AbortSignal): Fault {
  return signal.reason instanceof Fault
    ? signal.reason
    : new Fault('cancelled', 'The call was cancelled', { cause: signal.reason })
}

export type Deadline = {
  readonly signal: AbortSignal
  /** Releases timer and listener: must be called when the work is done. */
  clear(): void
}

/** A signal that aborts with a Fault of `code` after `ms`, or earlier with the reason of `parent`. */
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

/** Waits for shared work; when `signal` aborts, only this caller stops waiting and the work continues for the others. */
export function waitFor<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(faultOf(signal))
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}
