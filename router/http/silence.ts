/** Tells a replica that takes its time from one that is frozen, or whose machine is gone: only the latter says nothing of its health. */
import type { Dispatcher } from 'undici'
import type { Clock } from '../../core/async.ts'

export type Silence = {
  /** Calls `onSilent` where a replica that is waited for says nothing any more; until the returned function is called. */
  watch(origin: string, onSilent: () => void): () => void
}

/** So often is a replica asked that somebody waits for, and so long may it think. */
export const LOOK_EVERY_MS = 5_000
export const ANSWER_WITHIN_MS = 2_000

type Waiting = Set<() => void>

export function createSilence(agent: Dispatcher, clock: Clock): Silence {
  const waitedFor = new Map<string, Waiting>()

  function later(origin: string, waiting: Waiting): void {
    clock.after(LOOK_EVERY_MS, () => {
      if (waiting.size > 0) void look(origin, waiting)
      else waitedFor.delete(origin)
    })
  }

  async function look(origin: string, waiting: Waiting): Promise<void> {
    later(origin, waiting)
    if (await isThere(agent, origin, clock)) return
    for (const onSilent of [...waiting]) onSilent()
  }

  return {
    watch(origin, onSilent) {
      let waiting = waitedFor.get(origin)
      if (!waiting) {
        waiting = new Set()
        waitedFor.set(origin, waiting)
        later(origin, waiting)
      }
      waiting.add(onSilent)
      return () => waiting.delete(onSilent)
    },
  }
}

/** One that refuses connections is ending: it still answers what it took. */
async function isThere(agent: Dispatcher, origin: string, clock: Clock): Promise<boolean> {
  const late = new AbortController()
  const timer = clock.after(ANSWER_WITHIN_MS, () => late.abort())
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
