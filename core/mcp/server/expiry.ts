/** Ends what stays open when the credential of its caller expires. */
import type { Clock, Timer } from '../../async.ts'
import type { Identity } from '../identity.ts'

/** The longest delay of a timer in Node: longer ones fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** Calls `end` once the credential has expired, unless the returned function was called before. */
export function atExpiry(clock: Clock, { expiresMs }: Identity, end: () => void): () => void {
  if (expiresMs === Number.POSITIVE_INFINITY) return () => {}
  let timer: Timer
  const wait = () => {
    const restMs = expiresMs - clock.now()
    timer = restMs > MAX_DELAY_MS ? clock.after(MAX_DELAY_MS, wait) : clock.after(Math.max(0, restMs), end)
  }
  wait()
  return () => timer.cancel()
}
