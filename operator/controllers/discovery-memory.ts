/** What discovery remembers of asking one server, and when it is to be asked again. Pure. */
import type { Fault } from '../../core/errors.ts'
import { parseDuration } from '../../crds/quantity.ts'
import type { Target } from './discovery-targets.ts'

const MIN_INTERVAL_MS = 1_000
/** A server that says that its lists changed is asked no more often than that. */
export const CHANGED_GAP_MS = 1_000
const FIRST_RETRY_MS = 200
const LAST_RETRY_MS = 60_000
/** Asking a server that runs elsewhere is cheap, and its outage is often short. */
const LAST_REMOTE_RETRY_MS = 10_000

export type Memory = {
  uid: string | undefined
  /** What was last asked, of which pods, at whose wish; undefined: it has to be asked. */
  asked?: string
  revision?: string
  askedAt: number
  /** When to ask again though all that is the same; where it is not said, when the interval of the manifest is over. */
  againMs?: number
  /** By which intervals are cut or lengthened, so that servers are not asked all at once. */
  spread: number
  /** In a row. */
  failures: number
  /** Since when its pods are ready. */
  servingSince?: number
  /** The server said so since it was last asked, or its slices are gone. */
  changed: boolean
  /** How long such a word has to wait; longer where nothing came of the one before. */
  changedGapMs: number
}

export function createMemory(uid: string | undefined): Memory {
  return { uid, askedAt: 0, spread: 1, failures: 0, changed: false, changedGapMs: CHANGED_GAP_MS }
}

/** All that a list depends on; `refresh` is the wish of a person. */
export function wantedOf({ endpoint, revision }: Target, refresh: string): string {
  return JSON.stringify([endpoint.revision, revision, refresh])
}

/** When to ask what was asked before once more, in milliseconds since the epoch. */
export function dueAt({ askedAt, againMs, spread, changed, changedGapMs }: Memory, target: Target): number {
  const waitMs = againMs ?? intervalOf(target) * spread
  return askedAt + (changed ? Math.min(waitMs, changedGapMs) : waitMs)
}

/** How often the lists are read where nothing happens. */
export function intervalOf({ server }: Target): number {
  return Math.max(parseDuration(server.spec.discovery.interval), MIN_INTERVAL_MS)
}

/** How long a server that failed is left alone. */
export function retryMs({ failures }: Memory, { revision }: Target, { code }: Fault): number {
  const isOutage = revision === undefined && code !== 'upstream_auth_required'
  return Math.min(FIRST_RETRY_MS * 2 ** failures, isOutage ? LAST_REMOTE_RETRY_MS : LAST_RETRY_MS)
}
