/** Finds out which era a child speaks and shakes hands in it. */
import type { Clock } from '../../../async.ts'
import { Fault } from '../../../errors.ts'
import type { JsonObject } from '../../../json.ts'
import type { McpResponse } from '../../protocol/json-rpc.ts'
import type { Era } from '../../protocol/revisions.ts'
import type { UpstreamCall } from '../../upstream.ts'
import { initialize, type Negotiated, probe } from '../handshake.ts'

/** Whether a server speaks an era, as its children showed; absent: nobody knows. */
export type EraMemory = { [era in Era]?: boolean }

export type Opening = {
  ask: (call: UpstreamCall, signal: AbortSignal) => Promise<McpResponse>
  memory: EraMemory
  /** The era to try first, unless the server is known not to speak it. */
  prefers: Era
  /** What the server may ask its client for in the older era. */
  capabilities?: JsonObject
  clock: Clock
}

/** A server that has not answered the newer era's first request by then is slow, or deaf to it: nobody knows which. */
export const SILENCE_MS = 2_000

/** Whether a child is asked in the newer era first. */
export function isModernFirst(memory: EraMemory, prefers: Era): boolean {
  return prefers === 'modern' ? memory.modern !== false : memory.legacy === false
}

/** Nothing is known any more: the server may have become another one. */
export function forget(memory: EraMemory): void {
  memory.modern = undefined
  memory.legacy = undefined
}

/** Tries the other era where the first is refused, and remembers. Throws Fault upstream_protocol, and that of `signal`. */
export async function open(opening: Opening, signal: AbortSignal): Promise<Negotiated> {
  const { memory, prefers } = opening
  return isModernFirst(memory, prefers) ? openModern(opening, signal) : openLegacy(opening, signal)
}

async function openLegacy(opening: Opening, signal: AbortSignal): Promise<Negotiated> {
  const { ask, memory, capabilities } = opening
  const legacy = await initialize(ask, signal, capabilities).catch(refusal)
  memory.legacy = !(legacy instanceof Fault)
  if (!(legacy instanceof Fault)) return legacy
  const modern = await inquire(ask, signal)
  memory.modern = modern !== undefined
  if (!modern) throw legacy
  return modern
}

async function openModern(opening: Opening, signal: AbortSignal): Promise<Negotiated> {
  const { ask, memory, clock, capabilities } = opening
  const over = new AbortController()
  let modern: Negotiated | undefined
  const probing = inquire(ask, AbortSignal.any([signal, over.signal])).then(info => {
    modern = info
    return false as const
  })
  try {
    const silent = await (memory.modern ? probing : orSilence(probing, clock))
    const legacy = modern ?? (await initialize(ask, signal, capabilities).catch(refusal))
    if (silent && legacy instanceof Fault) await orSilence(probing, clock)
    // A slow server answers both in their order, and holds on to the era of the last.
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

/** True: there was no answer in time. */
async function orSilence(probing: Promise<false>, clock: Clock): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<true>()
  const timer = clock.after(SILENCE_MS, () => resolve(true))
  return Promise.race([probing, promise]).finally(() => timer.cancel())
}

/** Undefined: it does not speak the newer era, whatever its answer is. */
function inquire(ask: Opening['ask'], signal: AbortSignal): Promise<Negotiated | undefined> {
  return probe(ask, signal).catch(error => {
    refusal(error)
    return undefined
  })
}

/** Only an answer that refuses us leads to the other era: not silence, nor the end of the child. */
function refusal(error: unknown): Fault {
  if (error instanceof Fault && error.code === 'upstream_protocol') return error
  throw error
}
