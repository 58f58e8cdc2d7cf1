/** Session ids that carry their own proof, `owner.nonce.expiry.HMAC`: nothing is stored, and they outlive a restart. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../async.ts'
import type { JsonObject } from '../../json.ts'

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
}

export type SignedSessions = Sessions & {
  issue(): string
  /** The process that issued an id, which has what is bound to it; undefined as in `find`. */
  ownerOf(id: string): string | undefined
}

const SESSION_LIFE_MS = 30 * 24 * 60 * 60_000
/** Checked and ended ids that are remembered, oldest forgotten first: an id is checked again, an ended one lives again. */
const MAX_REMEMBERED = 10_000
const MAX_ID_LENGTH = 256
const NONCE_BYTES = 18

/**
 * `key` signs the ids: keep it over restarts and the ids of before still hold. `owner` names the process that holds what
 * is bound to the session; it is in the id for others to read, and has no dot.
 */
export function createSessions(options: {
  key: string | Uint8Array
  owner: string
  clock: Clock
}): SignedSessions {
  const { key, owner, clock } = options
  const known = new Map<string, Session>()
  const ended = new Map<string, true>()

  const signature = (text: string) => createHmac('sha256', key).update(text).digest('base64url')

  function read(id: string) {
    const remembered = known.get(id)
    if (remembered) return remembered
    const session = verify(id, signature)
    if (session) remember(known, id, session)
    return session
  }

  function find(id: string): Session | undefined {
    const session = read(id)
    return session && session.expires > clock.now() && !ended.has(id) ? session : undefined
  }

  return {
    issue() {
      const expiry = (clock.now() + SESSION_LIFE_MS).toString(36)
      const text = `${owner}.${randomBytes(NONCE_BYTES).toString('base64url')}.${expiry}`
      return `${text}.${signature(text)}`
    },
    find,
    ownerOf: id => find(id)?.owner,
    end(id) {
      if (!find(id)) return false
      remember(ended, id, true)
      return true
    },
  }
}

type Session = { owner: string; client: string; expires: number }

function verify(id: string, signature: (text: string) => string): Session | undefined {
  if (id.length > MAX_ID_LENGTH) return undefined
  const end = id.lastIndexOf('.')
  const [owner, nonce, expiry] = id.slice(0, end).split('.')
  if (!owner || !nonce || !expiry) return undefined
  const given = Buffer.from(id.slice(end + 1))
  const right = Buffer.from(signature(id.slice(0, end)))
  if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined
  return { owner, client: nonce, expires: Number.parseInt(expiry, 36) }
}

function remember<T>(map: Map<string, T>, id: string, value: T): void {
  if (map.size >= MAX_REMEMBERED) map.delete(map.keys().next().value as string)
  map.set(id, value)
}
