/** Waits for admission policies: one takes a second or two to be in force or gone, its parameters too. */
import { setTimeout as wait } from 'node:timers/promises'

const LIMIT_MS = 30_000
const POLL_MS = 200

/** Resolves with what `probe` does, once it does not throw. */
export async function inForce<T>(probe: () => Promise<T>): Promise<T> {
  const limit = performance.now() + LIMIT_MS
  for (;;) {
    try {
      return await probe()
    } catch (cause) {
      if (performance.now() > limit) throw new Error('the policies do not do it', { cause })
      await wait(POLL_MS)
    }
  }
}
