/** How long a credential that was verified is trusted without being verified again. Pure. */
import type { Clock } from '../../core/async.ts'
import type { Identity } from '../../core/mcp/identity.ts'

/** A key that was withdrawn stops working within this time, beside the life of keys. */
const TRUST_MS = 5 * 60_000

/** Until when to trust, in ms since the epoch: no longer than the credential itself is valid. */
export function trustedUntilMs(found: { identity: Identity; untilMs: number }, clock: Clock): number {
  return Math.min(found.untilMs, found.identity.expiresMs, clock.now() + TRUST_MS)
}

/** No longer than at first if the clock was set back meanwhile. */
export function isTrusted({ untilMs }: { untilMs: number }, clock: Clock): boolean {
  const leftMs = untilMs - clock.now()
  return leftMs > 0 && leftMs <= TRUST_MS
}
