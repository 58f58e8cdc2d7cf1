/** Which session of an upstream a call uses: its client's, or the one that all share who can be asked for the same. Pure. */
import type { JsonObject } from '../../../json.ts'
import type { Caller } from '../../caller.ts'
import { capabilityCode, readCapabilityCode } from '../../protocol/capabilities.ts'
import type { Era } from '../../protocol/revisions.ts'
import type { SessionKey, Wanted } from './session-book.ts'

/** The session that all share who cannot be asked for anything. */
export const SHARED: SessionKey = ''

export type Asking = Partial<Pick<Caller, 'client' | 'capabilities'>>

export type SessionKeys = {
  perClient: boolean
  /** Whether the upstream speaks an era; undefined: nobody knows yet. */
  speaks: (era: Era) => boolean | undefined
  /** Whether a question to a shared session comes with the call it is for. */
  questionsOfCalls: boolean
}

/**
 * A client that has a key has a session of its own, which only the older era knows. All else needs none, and is asked for in the newer
 * era first: there one session stands for all, since every request says itself what its caller can be asked for.
 */
export function createSessionKeys(options: SessionKeys): (asking: Asking) => Wanted {
  const { perClient, speaks, questionsOfCalls } = options
  return ({ client, capabilities = NONE }) => {
    const keyed = perClient && client !== undefined
    if (speaks('modern') && !(keyed && speaks('legacy') !== false)) return FOR_ALL
    const declared = capabilityCode(capabilities)
    if (keyed) return { key: client, capabilities, declared, own: true, prefers: 'legacy' }
    if (perClient) return { key: Symbol('one call'), capabilities, declared, own: true, prefers: 'modern' }
    if (declared === '' || !questionsOfCalls) return FOR_ALL
    return sharedBy(declared)
  }
}

/** What is declared there is only what the code says: there are 75 of them, whatever callers declare. */
function sharedBy(declared: string): Wanted {
  const capabilities = readCapabilityCode(declared) ?? NONE
  return { key: sharedKey(declared), capabilities, declared, own: false, prefers: 'modern' }
}

/** The key of the session that all share who declare the same, of which this is the code. */
export function sharedKey(declared: string): SessionKey {
  return `shared ${declared}`
}

const NONE: JsonObject = {}
/** The one session of the newer era, or of those who cannot be asked for anything. */
export const FOR_ALL: Wanted = {
  key: SHARED,
  capabilities: NONE,
  declared: '',
  own: false,
  prefers: 'modern',
}
