/** Session ids that carry their own proof and what their clients can be asked for: nothing is stored, and they outlive a restart. */
import type { Clock } from '../../async.ts'
import { BoundedMap } from '../../bounded-map.ts'
import type { JsonObject } from '../../json.ts'
import type { ClientLabel } from '../caller.ts'
import { askable, capabilityCode, readCapabilityCode } from '../protocol/capabilities.ts'
import { clientName, readName, sessionFingerprint, writeName } from './client-label.ts'
import { createSigner, type Signer } from './signed.ts'

export type Sessions = {
  /** A new id for a client that said initialize with these params; undefined where there are no sessions. */
  issue(params: JsonObject): string | undefined
  /** Whose an id is; undefined where it is forged, expired or ended. */
  find(id: string): ClientSession | undefined
  /** Ends a session (DELETE); false where there was none. */
  end(id: string): boolean
}

export type ClientSession = {
  /** The key of the client. */
  client: string
  /** What it can be asked for, as it declared it at initialize: `elicitation`, `sampling`, `roots`. Absent: for nothing. */
  capabilities?: JsonObject
  /** For logs. Absent: it is named nowhere. */
  label?: ClientLabel
}

export type SignedSessions = Omit<Sessions, 'issue'> & {
  issue(params?: JsonObject): string
  /** The process that issued an id, which has what is bound to it; undefined as in `find`. */
  ownerOf(id: string): string | undefined
  /** The process that asked what a body answers (a request to a client, or a held call); undefined where it answers nothing. */
  ownerOfBody(body: string): string | undefined
  /** Signs with the same key, for the same owner. */
  readonly signer: Signer
}

const SESSION_LIFE_MS = 30 * 24 * 60 * 60_000
/** Checked and ended ids that are remembered, oldest forgotten first: an id is checked again, an ended one lives again. */
const MAX_REMEMBERED = 10_000

/**
 * `key` signs the ids: keep it over restarts and the ids of before still hold. `owner` names the process that holds what
 * is bound to the session; it is in the id for others to read, and has no dot.
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

/** Between the letters of capabilities and the name. */
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

/** What a client said of itself at initialize, as its id carries it to every replica. */
function noteOf({ capabilities, clientInfo }: JsonObject): string {
  const name = writeName(clientName(clientInfo))
  return `${capabilityCode(askable(capabilities))}${name && NAME_MARK}${name}`
}
