/** Signed session ids that contain the client's capabilities: nothing is stored, and they stay valid after a restart. */
import type { Clock } from '../../async.ts'
import { BoundedMap } from '../../bounded-map.ts'
import type { JsonObject } from '../../json.ts'
import type { ClientLabel } from '../caller.ts'
import { askable, capabilityCode, readCapabilityCode } from '../protocol/capabilities.ts'
import { clientName, readName, sessionFingerprint, writeName } from './client-label.ts'
import { createSigner, type Signer } from './signed.ts'

export type Sessions = {
  /** Creates an id for a client, from the params of its `initialize`; undefined if there are no sessions. */
  issue(params: JsonObject): string | undefined
  /** The session with this id; undefined if it is forged, expired or ended. */
  find(id: string): ClientSession | undefined
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

export type SignedSessions = Omit<Sessions, 'issue'> & {
  issue(params?: JsonObject): string
  /** The process that issued an id and holds the session's state; undefined as in `find`. */
  ownerOf(id: string): string | undefined
  /** The process that asked the question or holds the call that a body answers; undefined if it answers none. */
  ownerOfBody(body: string): string | undefined
  /** A signer with the same key and owner. */
  readonly signer: Signer
}

const SESSION_LIFE_MS = 30 * 24 * 60 * 60_000
/** Verified and ended ids kept. Evicted ids are verified again; an evicted ended id is valid again until it expires. */
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

  function read(id: string): Session | undefined {
    const remembered = known.get(id)
    if (remembered) return remembered
    const session = sessionOf(signer, id)
    if (session) known.set(id, session)
    return session
  }

  function find(id: string): Session | undefined {
    const session = read(id)
    return session && session.expires > clock.now() && !ended.has(id) ? session : undefined
  }

  return {
    signer,
    issue: (params = {}) => signer.session(SESSION_LIFE_MS, noteOf(params)),
    find,
    ownerOf: id => find(id)?.owner,
    ownerOfBody: signer.ownerOfBody,
    end(id) {
      if (!find(id)) return false
      ended.set(id, true)
      return true
    },
  }
}

/** Separates the capability code from the name. */
const NAME_MARK = '~'

type Session = ClientSession & { owner: string; expires: number }

function sessionOf(signer: Signer, id: string): Session | undefined {
  const signed = signer.readSession(id)
  if (!signed) return undefined
  const { owner, nonce: client, expires, note } = signed
  const [code = '', name] = note.split(NAME_MARK)
  const label = { name: readName(name), session: sessionFingerprint(client) }
  return { owner, client, expires, capabilities: readCapabilityCode(code), label }
}

/** The capabilities and the name from `initialize`, encoded in the id so that every replica knows them. */
function noteOf({ capabilities, clientInfo }: JsonObject): string {
  const name = writeName(clientName(clientInfo))
  return `${capabilityCode(askable(capabilities))}${name && NAME_MARK}${name}`
}
