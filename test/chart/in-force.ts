/** Waits for admission policies and rights: the API server takes a second or two to apply new, changed or deleted ones. */
import { setTimeout as wait } from 'node:timers/promises'

const LIMIT_MS = 30_000
const POLL_MS = 200

/** Calls `probe` until it does not throw, and returns its result; throws after 30 s. */
export async function inForce<T>(probe: () => Promise<T>): Promise<T> {
  const limit = performance.now() + LIMIT_MS
  for (;;) {
    try {
      return await probe()
    } catch (cause) {
      if (performance.now() > limit)
        throw new Error('the policies or rights did not take effect in time', { cause })
      await wait(POLL_MS)
    }
  }
}
