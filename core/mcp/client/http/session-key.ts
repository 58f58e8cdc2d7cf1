/** Selects the session for a call: its client's own, or one shared by all callers with equal capabilities. Pure. */
import type { JsonObject } from '../../../json.ts'
import type { Caller } from '../../caller.ts'
import { capabilityCode, readCapabilityCode } from '../../protocol/capabilities.ts'
import type { Era } from '../../protocol/revisions.ts'
import type { SessionKey, Wanted } from './session-book.ts'

/** The session shared by all callers without capabilities. */
export const SHARED: SessionKey = ''

/** The properties of a caller that select its session. */
export type Asking = Partial<Pick<Caller, 'client' | 'capabilities'>>

export type SessionKeys = {
  perClient: boolean
  /** Whether the upstream speaks an era; undefined: not known yet. */
  speaks: (era: Era) => boolean | undefined
  /** Whether questions on a shared session arrive on the stream of the call they belong to. */
  questionsOfCalls: boolean
}

/**
 * With `perClient`, a caller with a key gets its own session, which only the 2025 era has. All others prefer the 2026 era, where
 * one session serves everybody, because every request carries its caller's capabilities.
 */
export function createSessionKeys(options: SessionKeys): (asking: Asking) => Wanted {
  const { perClient, speaks, questionsOfCalls } = options
  return ({ client, capabilities = NONE }) => {
    const keyed = perClient && client !== undefined
    if (speaks('modern') && !(keyed && speaks('legacy') !== false)) return FOR_ALL
    const declared = capabilities === NONE ? '' : capabilityCode(capabilities)
    if (keyed) return { key: client, capabilities, declared, own: true, prefers: 'legacy' }
    if (perClient) return { key: Symbol('one call'), capabilities, declared, own: true, prefers: 'modern' }
    if (declared === '' || !questionsOfCalls) return FOR_ALL
    return sharedBy(declared)
  }
}

/** Declares only what the code encodes, so that there are at most 75 such sessions. */
function sharedBy(declared: string): Wanted {
  const capabilities = readCapabilityCode(declared) ?? NONE
  return { key: sharedKey(declared), capabilities, declared, own: false, prefers: 'modern' }
}

/** The key of the session shared by all callers with this capability code. */
export function sharedKey(declared: string): SessionKey {
  return `shared ${declared}`
}

const NONE: JsonObject = {}
/** The session of the 2026 era, or of callers without capabilities. */
export const FOR_ALL: Wanted = {
  key: SHARED,
  capabilities: NONE,
  declared: '',
  own: false,
  prefers: 'modern',
}
