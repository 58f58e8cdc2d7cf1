/** Names of clients for logs: bounded, on one line, and without secrets that would allow impersonation. Pure. */
import { hash } from 'node:crypto'
import { cut } from '../../cut.ts'
import { isObject } from '../../json.ts'

const MAX_NAME_CHARACTERS = 64
const SESSION_CHARACTERS = 8
/** Keeps session ids short enough for `Signer.readSession`. */
const MAX_WRITTEN_BYTES = 96
/** The usual names need no cleaning. */
const PLAIN = /^[\x20-\x7e]{1,64}$/

/** The name in the `clientInfo` of a handshake or an envelope; undefined if there is none. */
export function clientName(info: unknown): string | undefined {
  if (!isObject(info) || typeof info.name !== 'string') return undefined
  return bounded(typeof info.version === 'string' ? `${info.name}/${info.version}` : info.name)
}

/** A short hash of a session key, for logs: the key itself is a secret. */
export function sessionFingerprint(key: string): string {
  return hash('sha256', key, 'base64url').slice(0, SESSION_CHARACTERS)
}

/** Encodes a name for a session id; empty if there is none. */
export function writeName(name: string | undefined): string {
  return name === undefined ? '' : Buffer.from(name).subarray(0, MAX_WRITTEN_BYTES).toString('base64url')
}

/** Decodes what `writeName` wrote; undefined if it is empty. */
export function readName(written: string | undefined): string | undefined {
  return written ? bounded(Buffer.from(written, 'base64url').toString()) : undefined
}

/** Removes control, format and unassigned characters, including line breaks. */
function bounded(name: string): string | undefined {
  if (PLAIN.test(name)) return name
  const clean = cut(name, 4 * MAX_NAME_CHARACTERS).replace(/[\p{C}\p{Zl}\p{Zp}\uFFFD]/gu, '')
  return clean.slice(0, MAX_NAME_CHARACTERS).toWellFormed().trim() || undefined
}
