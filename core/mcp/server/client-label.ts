/** How a client is named in logs: bounded, on one line, and never enough to act in its name. Pure. */
import { hash } from 'node:crypto'
import { isObject } from '../../json.ts'

const MAX_NAME_CHARACTERS = 64
const SESSION_CHARACTERS = 8
/** Keeps a session id within what is read of one, whatever is in the name. */
const MAX_NOTE_BYTES = 96
/** What clients usually say needs no second look. */
const PLAIN = /^[\x20-\x7e]{1,64}$/

/** Of the `clientInfo` of a handshake or an envelope; undefined where it names nobody. */
export function clientName(info: unknown): string | undefined {
  if (!isObject(info) || typeof info.name !== 'string') return undefined
  return bounded(typeof info.version === 'string' ? `${info.name}/${info.version}` : info.name)
}

/** The hash of a key that must not be in a log itself. */
export function sessionFingerprint(key: string): string {
  return hash('sha256', key, 'base64url').slice(0, SESSION_CHARACTERS)
}

/** A name as it stands in a session id; empty for none. */
export function writeName(name: string | undefined): string {
  return name === undefined ? '' : Buffer.from(name).subarray(0, MAX_NOTE_BYTES).toString('base64url')
}

export function readName(written: string | undefined): string | undefined {
  return written ? bounded(Buffer.from(written, 'base64url').toString()) : undefined
}

/** Without control, format and unassigned characters, line breaks among them. */
function bounded(name: string): string | undefined {
  if (PLAIN.test(name)) return name
  const clean = name.slice(0, 4 * MAX_NAME_CHARACTERS).replace(/[\p{C}\p{Zl}\p{Zp}\uFFFD]/gu, '')
  return clean.slice(0, MAX_NAME_CHARACTERS).toWellFormed().trim() || undefined
}
