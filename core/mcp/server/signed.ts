/** Signed tokens that name their owner (session ids, ids of questions, `requestState` of held calls), and sealed texts of upstreams. */
import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../async.ts'
import { deriveKey } from '../../derived-key.ts'

/** `state`: requestState of a held call; `again`: requestState of a call to be repeated; `ask`: id of a question to a client. */
export type MarkKind = 'state' | 'again' | 'ask'

/** What a token contains. `expires`: milliseconds since the epoch. `note`: empty if there is none. */
export type Signed = { owner: string; nonce: string; expires: number; note: string }

export type Signer = {
  /** The process that signs; readable in every token. */
  readonly owner: string
  /** `owner.nonce.expiry[.note].HMAC`; a note must not contain a dot. */
  session(lifeMs: number, note: string): string
  /** Undefined if the signature is wrong. The caller must check whether the token has expired. */
  readSession(text: string): Signed | undefined
  /** A short keyed hash of a text, without dots and tildes. */
  fingerprint(text: string): string
  /** A token that begins with a marker, so that it can be found in a body. */
  mark(kind: MarkKind, lifeMs: number): string
  /** Undefined if the token is of another kind, expired, or its signature is wrong. */
  readMark(kind: MarkKind, text: unknown): Signed | undefined
  /** Encrypts a text that can be opened again only with the same `context` (AES-256-GCM). The same text and context give the same value. */
  seal(text: string, context: string): string
  /** Undefined if the value was not sealed by us, or with another context. */
  open(sealed: unknown, context: string): string | undefined
  /** Whether a token names our key, even if its signature is wrong. */
  claimsOurs(text: unknown): boolean
  /** The owner of the first valid mark in a JSON body; undefined if there is none. */
  ownerOfBody(body: string): string | undefined
}

const MARKER = 'portolan~'
/** The letter after the prefix of a token that names its kind; `SEALED` is that of sealed texts. */
const LETTERS: Readonly<Record<MarkKind, string>> = {
  state: 's',
  again: 'a',
  ask: 'q',
}
const SEALED = 'u'
const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16
const MAX_TEXT_LENGTH = 320
const NONCE_BYTES = 18
const KEY_NAME_LENGTH = 8
const FINGERPRINT_LENGTH = 22
/** How many marks `ownerOfBody` checks. */
const MAX_MARKS = 8

/**
 * Processes with the same `key` accept each other's tokens. `owner` names the process that holds the state of a
 * token; it must not contain a dot.
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
  const signSession = signingFor(key, 'session id')
  const signIdentity = signingFor(key, 'identity')
  const signMark: Readonly<Record<MarkKind, Sign>> = {
    state: signingFor(key, 'mark: state'),
    again: signingFor(key, 'mark: again'),
    ask: signingFor(key, 'mark: ask'),
  }
  // The beginning of each mark and sealed text names the key, without revealing it.
  const prefix = `${MARKER}${signingFor(key, 'key name')('').slice(0, KEY_NAME_LENGTH)}`

  const newText = (lifeMs: number) =>
    `${owner}.${randomBytes(NONCE_BYTES).toString('base64url')}.${(clock.now() + lifeMs).toString(36)}`

  function readMark(kind: MarkKind, text: unknown): Signed | undefined {
    const beginning = `${prefix}${LETTERS[kind]}.`
    if (typeof text !== 'string' || !text.startsWith(beginning)) return undefined
    const signed = read(text.slice(beginning.length), signMark[kind])
    return signed && signed.expires > clock.now() ? signed : undefined
  }

  const sealKey = deriveKey(key, 'seal')
  const ivKey = deriveKey(key, 'seal iv')
  // Derived from all that is encrypted with it, as in SIV, so that no two different messages share one; and ids that are sealed stay the same.
  const ivOf = (text: string, context: string) =>
    createHmac('sha256', ivKey)
      .update(JSON.stringify([context, text]))
      .digest()
      .subarray(0, IV_BYTES)
  const sealPrefix = `${prefix}${SEALED}.`

  return {
    owner,
    seal(text, context) {
      const iv = ivOf(text, context)
      const cipher = createCipheriv(CIPHER, sealKey, iv).setAAD(Buffer.from(context))
      const parts = [iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
      return `${sealPrefix}${Buffer.concat(parts).toString('base64url')}`
    },
    open(sealed, context) {
      if (typeof sealed !== 'string' || !sealed.startsWith(sealPrefix)) return undefined
      const bytes = Buffer.from(sealed.slice(sealPrefix.length), 'base64url')
      return bytes.length < IV_BYTES + TAG_BYTES ? undefined : decrypt(sealKey, bytes, context)
    },
    session(lifeMs, note) {
      const text = note === '' ? newText(lifeMs) : `${newText(lifeMs)}.${note}`
      return `${text}.${signSession(text)}`
    },
    readSession: text => read(text, signSession),
    fingerprint: text => signIdentity(text).slice(0, FINGERPRINT_LENGTH),
    mark(kind, lifeMs) {
      const text = newText(lifeMs)
      return `${prefix}${LETTERS[kind]}.${text}.${signMark[kind](text)}`
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

type Sign = (text: string) => string

function signingFor(key: string | Uint8Array, purpose: string): Sign {
  const derived = deriveKey(key, purpose)
  return text => createHmac('sha256', derived).update(text).digest('base64url')
}

function decrypt(key: Buffer, bytes: Buffer, context: string): string | undefined {
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-TAG_BYTES))
    const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES))
    return Buffer.concat([text, decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

/** Reads a signed token. Undefined if it is malformed or its signature is wrong; does not check whether it has expired. */
function read(text: string, sign: Sign): Signed | undefined {
  if (text.length > MAX_TEXT_LENGTH) return undefined
  const end = text.lastIndexOf('.')
  const [owner, nonce, expiry, note = '', more] = text.slice(0, end).split('.')
  if (!owner || !nonce || !expiry || more !== undefined) return undefined
  const given = Buffer.from(text.slice(end + 1))
  const expected = Buffer.from(sign(text.slice(0, end)))
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
  return { owner, nonce, expires: Number.parseInt(expiry, 36), note }
}
