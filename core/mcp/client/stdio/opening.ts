/** Detects the era of a child and performs its handshake. */
import type { Clock } from '../../../async.ts'
import { Fault } from '../../../errors.ts'
import type { JsonObject } from '../../../json.ts'
import type { McpResponse } from '../../protocol/json-rpc.ts'
import type { Era } from '../../protocol/revisions.ts'
import type { UpstreamCall } from '../../upstream.ts'
import { initialize, type Negotiated, probe } from '../handshake.ts'

/** Whether a server speaks each era, as its children showed; absent: not known. */
export type EraMemory = { [era in Era]?: boolean }

export type Opening = {
  ask: (call: UpstreamCall, signal: AbortSignal) => Promise<McpResponse>
  memory: EraMemory
  /** The era to try first, unless the server is known not to speak it. */
  prefers: Era
  /** The capabilities to declare in the 2025 handshake. */
  capabilities?: JsonObject
  clock: Clock
}

/** A server that has not answered `server/discover` by then is slow, or ignores it; the 2025 handshake is sent too. */
export const SILENCE_MS = 2_000

/** Whether to try the 2026 era first. */
export function isModernFirst(memory: EraMemory, prefers: Era): boolean {
  return prefers === 'modern' ? memory.modern !== false : memory.legacy === false
}

/** Forgets the eras: the server may have been replaced. */
export function forget(memory: EraMemory): void {
  memory.modern = undefined
  memory.legacy = undefined
}

/**
 * Performs the handshake, in the other era if the first is refused. Notes in `memory` which eras the server speaks. Throws Fault
 * upstream_protocol, or that of `signal`.
 */
export async function open(opening: Opening, signal: AbortSignal): Promise<Negotiated> {
  const { memory, prefers } = opening
  return isModernFirst(memory, prefers) ? openModern(opening, signal) : openLegacy(opening, signal)
}

async function openLegacy(opening: Opening, signal: AbortSignal): Promise<Negotiated> {
  const { ask, memory, capabilities } = opening
  const legacy = await initialize(ask, signal, capabilities).catch(refusal)
  memory.legacy = !(legacy instanceof Fault)
  if (!(legacy instanceof Fault)) return legacy
  const modern = await probeModern(ask, signal)
  memory.modern = modern !== undefined
  if (!modern) throw legacy
  return modern
}

async function openModern(opening: Opening, signal: AbortSignal): Promise<Negotiated> {
  const { ask, memory, clock, capabilities } = opening
  const over = new AbortController()
  let modern: Negotiated | undefined
  const probing = probeModern(ask, AbortSignal.any([signal, over.signal])).then(info => {
    modern = info
    return false as const
  })
  try {
    const silent = await (memory.modern ? probing : orTimeout(probing, clock))
    const legacy = modern ?? (await initialize(ask, signal, capabilities).catch(refusal))
    if (silent && legacy instanceof Fault) await orTimeout(probing, clock)
    // A slow server answers both in order, and stays in the era of the last handshake.
    memory.modern = modern !== undefined
    if (!modern || silent) memory.legacy = !(legacy instanceof Fault)
    const info = legacy instanceof Fault ? modern : legacy
    if (!info) throw legacy
    return info
  } finally {
    over.abort()
    probing.catch(() => {})
  }
}

/** Resolves with true if there was no answer in time. */
async function orTimeout(probing: Promise<false>, clock: Clock): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<true>()
  const timer = clock.after(SILENCE_MS, () => resolve(true))
  return Promise.race([probing, promise]).finally(() => timer.cancel())
}

/** Probes the 2026 era; undefined if the server does not speak it. */
function probeModern(ask: Opening['ask'], signal: AbortSignal): Promise<Negotiated | undefined> {
  return probe(ask, signal).catch(error => {
    refusal(error)
    return undefined
  })
}

/** Returns the fault if the server refused the era; throws all others, such as timeouts and exits. */
function refusal(error: unknown): Fault {
  if (error instanceof Fault && error.code === 'upstream_protocol') return error
  throw error
}
