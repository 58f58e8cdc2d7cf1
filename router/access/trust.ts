/** How long a credential that was verified is trusted without being verified again. Pure. */
import type { Clock } from '../../core/async.ts'
import type { Identity } from '../../core/mcp/identity.ts'

/** At most this long. Tokens of a withdrawn key stop working within this time and the life of keys together. */
const TRUST_MS = 5 * 60_000

/** Until when to trust a credential, in milliseconds since the epoch: no longer than it is valid itself. */
export function trustedUntilMs(found: { identity: Identity; untilMs: number }, clock: Clock): number {
  return Math.min(found.untilMs, found.identity.expiresMs, clock.now() + TRUST_MS)
}

/** Whether a credential is still trusted. Not if the clock was set back: it would be trusted for longer than TRUST_MS. */
export function isTrusted({ untilMs }: { untilMs: number }, clock: Clock): boolean {
  const leftMs = untilMs - clock.now()
  return leftMs > 0 && leftMs <= TRUST_MS
}
