/** Texts that carry their own proof and name their owner: ids of sessions, of requests to clients, and of calls that are held. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../async.ts'

/** `state` is the requestState of a held call, `again` that of one which begins anew, `ask` the id of a request to a client. */
export type MarkKind = 'state' | 'again' | 'ask'

export type Signed = { owner: string; nonce: string; expires: number; note: string }

export type Signer = {
  /** The process that signs; it is in every text for others to read. */
  readonly owner: string
  /** `owner.nonce.expiry[.note].HMAC`; a note has no dot. */
  session(lifeMs: number, note: string): string
  readSession(text: string): Signed | undefined
  /** A text that begins with a marker, so that it is found in a body. */
  mark(kind: MarkKind, lifeMs: number): string
  readMark(kind: MarkKind, text: unknown): Signed | undefined
  /** Whether such a text says to be signed with our key, true or not: then it is for nobody else. */
  claimsOurs(text: unknown): boolean
  /** Who holds what the mark in a body of JSON is about; undefined where there is none that holds. */
  ownerOfBody(body: string): string | undefined
}

const MARKER = 'portolan~'
const LETTERS: Readonly<Record<MarkKind, string>> = {
  state: 's',
  again: 'a',
  ask: 'q',
}
const MAX_TEXT_LENGTH = 320
const NONCE_BYTES = 18
const KEY_NAME_LENGTH = 8
/** More marks than this in one body are not looked at. */
const MAX_MARKS = 8

/**
 * `key` signs: who keeps it knows the texts of before and those of its replicas. `owner` names the process that holds what is bound to
 * a text, and has no dot.
 */
export function createSigner({
  key,
  owner,
  clock,
}: {
  key: string | Uint8Array
  owner: string
  clock: Clock
}): Signer {
  const sign = (text: string) => createHmac('sha256', key).update(text).digest('base64url')
  const prefix = `${MARKER}${sign('portolan key name').slice(0, KEY_NAME_LENGTH)}`

  const fresh = (lifeMs: number) =>
    `${owner}.${randomBytes(NONCE_BYTES).toString('base64url')}.${(clock.now() + lifeMs).toString(36)}`

  function readMark(kind: MarkKind, text: unknown): Signed | undefined {
    const beginning = `${prefix}${LETTERS[kind]}.`
    if (typeof text !== 'string' || !text.startsWith(beginning)) return undefined
    // What is signed names its kind before a space, which no session's text has.
    const signed = read(text.slice(beginning.length), rest => sign(`${kind} ${rest}`))
    return signed && signed.expires > clock.now() ? signed : undefined
  }

  return {
    owner,
    session(lifeMs, note) {
      const text = note === '' ? fresh(lifeMs) : `${fresh(lifeMs)}.${note}`
      return `${text}.${sign(text)}`
    },
    readSession: text => read(text, sign),
    mark(kind, lifeMs) {
      const text = fresh(lifeMs)
      return `${prefix}${LETTERS[kind]}.${text}.${sign(`${kind} ${text}`)}`
    },
    readMark,
    claimsOurs: text => typeof text === 'string' && text.startsWith(prefix),
    ownerOfBody(body) {
      for (let at = body.indexOf(prefix), seen = 0; at >= 0 && seen < MAX_MARKS; seen++) {
        const end = body.indexOf('"', at)
        const text = body.slice(at, Math.min(end < 0 ? body.length : end, at + MAX_TEXT_LENGTH))
        const signed = readMark('state', text) ?? readMark('ask', text)
        if (signed) return signed.owner
        at = body.indexOf(prefix, at + prefix.length)
      }
      return undefined
    },
  }
}

function read(text: string, sign: (text: string) => string): Signed | undefined {
  if (text.length > MAX_TEXT_LENGTH) return undefined
  const end = text.lastIndexOf('.')
  const [owner, nonce, expiry, note = '', more] = text.slice(0, end).split('.')
  if (!owner || !nonce || !expiry || more !== undefined) return undefined
  const given = Buffer.from(text.slice(end + 1))
  const right = Buffer.from(sign(text.slice(0, end)))
  if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined
  return { owner, nonce, expires: Number.parseInt(expiry, 36), note }
}
