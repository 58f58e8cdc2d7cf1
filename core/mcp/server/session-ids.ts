/** Signed session ids that contain the client's capabilities: nothing is stored, and they stay valid after a restart. */
import type { Clock } from '../../async.ts'
import { BoundedMap } from '../../bounded-map.ts'
import type { JsonObject } from '../../json.ts'
import type { ClientLabel } from '../caller.ts'
import { askable, capabilityCode, readCapabilityCode } from '../protocol/capabilities.ts'
import { clientName, readName, sessionFingerprint, writeName } from './client-label.ts'
import { createSigner, type Signer } from './signed.ts'

export type Sessions = {
  /**
   * Creates an id for a client, from the params of its `initialize` and the id of its identity (empty: anonymous); undefined if there are
   * no sessions.
   */
  issue(params: JsonObject, identityId: string): string | undefined
  /** The session with this id; undefined if it is forged, expired, ended, or of a caller with another identity. */
  find(id: string, identityId: string): ClientSession | undefined
  /** Ends a session (DELETE); false if there was none. */
  end(id: string): boolean
}

export type ClientSession = {
  /** The key of the client. */
  client: string
  /** The declared capabilities that questions need: `elicitation`, `sampling`, `roots`. Absent: none. */
  capabilities?: JsonObject
  /** For logs. Absent: logs do not name the client. */
  label?: ClientLabel
}

export type SignedSessions = Omit<Sessions, 'issue' | 'find'> & {
  issue(params?: JsonObject, identityId?: string): string
  find(id: string, identityId?: string): ClientSession | undefined
  /** The process that issued an id and holds the session's state; undefined as in `find`. */
  ownerOf(id: string): string | undefined
  /** The process that asked the question or holds the call that a body answers; undefined if it answers none. */
  ownerOfBody(body: string): string | undefined
  /** A signer with the same key and owner. */
  readonly signer: Signer
}

const SESSION_LIFE_MS = 30 * 24 * 60 * 60_000
/** Limit of each map. An evicted verified id is verified again; an evicted ended id is valid again until it expires. */
const MAX_REMEMBERED = 10_000

/**
 * `key` signs the ids; a key that survives restarts keeps them valid. `owner` names the process that holds
 * the session's state; it is readable in the id, and must not contain a dot.
 */
export function createSessions(options: {
  key: string | Uint8Array
  owner: string
  clock: Clock
}): SignedSessions {
  const { clock } = options
  const signer = createSigner(options)
  const known = new BoundedMap<Session>(MAX_REMEMBERED)
  const ended = new BoundedMap<true>(MAX_REMEMBERED)
  const holders = new BoundedMap<string>(MAX_REMEMBERED)

  function read(id: string): Session | undefined {
    const remembered = known.get(id)
    if (remembered) return remembered
    const session = sessionOf(signer, id)
    if (session) known.set(id, session)
    return session
  }

  function valid(id: string): Session | undefined {
    const session = read(id)
    return session && session.expires > clock.now() && !ended.has(id) ? session : undefined
  }

  /** The fingerprint of an identity for session ids; it does not reveal the identity. */
  function holderOf(identityId: string): string {
    if (identityId === '') return ''
    const holder = holders.get(identityId) ?? signer.fingerprint(identityId)
    holders.set(identityId, holder)
    return holder
  }

  return {
    signer,
    issue: (params = {}, identityId = '') =>
      signer.session(SESSION_LIFE_MS, noteOf(params, holderOf(identityId))),
    find(id, identityId = '') {
      const session = valid(id)
      return session?.holder === holderOf(identityId) ? session : undefined
    },
    ownerOf: id => valid(id)?.owner,
    ownerOfBody: signer.ownerOfBody,
    end(id) {
      if (!valid(id)) return false
      ended.set(id, true)
      return true
    },
  }
}

/** Separates the capability code from the name, and the name from the holder. */
const SEPARATOR = '~'

/** `holder`: fingerprint of the identity that it belongs to; empty if anonymous. */
type Session = ClientSession & { owner: string; expires: number; holder: string }

function sessionOf(signer: Signer, id: string): Session | undefined {
  const signed = signer.readSession(id)
  if (!signed) return undefined
  const { owner, nonce: client, expires, note } = signed
  const [code = '', name = '', holder = ''] = note.split(SEPARATOR)
  const label = { name: readName(name), session: sessionFingerprint(client) }
  return { owner, client, expires, holder, capabilities: readCapabilityCode(code), label }
}

/** The capabilities and the name from `initialize`, encoded in the id so that every replica knows them, and the holder. */
function noteOf({ capabilities, clientInfo }: JsonObject, holder: string): string {
  const name = writeName(clientName(clientInfo))
  const code = capabilityCode(askable(capabilities))
  if (holder !== '') return [code, name, holder].join(SEPARATOR)
  return `${code}${name && SEPARATOR}${name}`
}
