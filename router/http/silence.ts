/** Distinguishes a slow replica from a frozen one or a failed machine: only a live replica answers health checks. */
import type { Dispatcher } from 'undici'
import type { Clock } from '../../core/async.ts'

export type Silence = {
  /** Calls `onSilent` if a replica we wait for stops answering health checks, until the returned function is called. */
  watch(origin: string, onSilent: () => void): () => void
}

/** Interval of the health checks of a replica we wait for, and how long it has to answer one. */
export const HEALTH_CHECK_INTERVAL_MS = 5_000
export const HEALTH_CHECK_TIMEOUT_MS = 2_000

type Waiting = Set<() => void>

export function createSilence(agent: Dispatcher, clock: Clock): Silence {
  const waitedFor = new Map<string, Waiting>()

  function scheduleCheck(origin: string, waiting: Waiting): void {
    clock.after(HEALTH_CHECK_INTERVAL_MS, () => {
      if (waiting.size > 0) void check(origin, waiting)
      else waitedFor.delete(origin)
    })
  }

  async function check(origin: string, waiting: Waiting): Promise<void> {
    scheduleCheck(origin, waiting)
    if (await isAlive(agent, origin, clock)) return
    for (const onSilent of [...waiting]) onSilent()
  }

  return {
    watch(origin, onSilent) {
      let waiting = waitedFor.get(origin)
      if (!waiting) {
        waiting = new Set()
        waitedFor.set(origin, waiting)
        scheduleCheck(origin, waiting)
      }
      waiting.add(onSilent)
      return () => waiting.delete(onSilent)
    },
  }
}

/** False only if there is no response in time. A replica that refuses connections is closing: it still answers the requests it has accepted. */
async function isAlive(agent: Dispatcher, origin: string, clock: Clock): Promise<boolean> {
  const late = new AbortController()
  const timer = clock.after(HEALTH_CHECK_TIMEOUT_MS, () => late.abort())
  const { signal } = late
  try {
    const { body } = await agent.request({ origin, path: '/healthz', method: 'GET', signal })
    await body.dump()
    return true
  } catch (error) {
    return !signal.aborted && (error as { code?: string }).code !== 'UND_ERR_CONNECT_TIMEOUT'
  } finally {
    timer.cancel()
  }
}
