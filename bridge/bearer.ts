/** Checks the callers' bearer token in constant time. Reads the token file again from time to time, since the token is replaced. */
import { timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Clock } from '../core/async.ts'
import { Fault } from '../core/errors.ts'

/** Kubernetes replaces the files of a mounted Secret at any time. The file is read again at most this often, not for every request. */
const REREAD_MS = 1_000
/** How long the previous token is still accepted after a rotation. */
const PREVIOUS_TOKEN_MS = 5 * 60_000
const SCHEME = /^bearer +/i

/**
 * Returns a function that checks an Authorization header. After a rotation it accepts both the new and the previous token, because
 * callers get the new one with a delay. Throws Fault `io` if the file has no token at the start.
 */
export function createBearerCheck(file: string, clock: Clock): (header: string | undefined) => boolean {
  let token = readToken(file)
  if (!token) throw new Fault('io', `The token file ${file} is missing or empty.`)
  let previous: { token: Buffer; until: number } | undefined
  let readAt = clock.elapsed()
  const reread = (now: number) => {
    readAt = now
    const found = readToken(file)
    if (previous && now >= previous.until) previous = undefined
    if (!found || !token || found.equals(token)) return
    previous = { token, until: now + PREVIOUS_TOKEN_MS }
    token = found
  }
  return header => {
    const now = clock.elapsed()
    if (now - readAt >= REREAD_MS) reread(now)
    if (header === undefined || !SCHEME.test(header)) return false
    const given = Buffer.from(header.replace(SCHEME, ''))
    return isEqual(given, token) || isEqual(given, previous?.token)
  }
}

function isEqual(given: Buffer, token: Buffer | undefined): boolean {
  return given.length === token?.length && timingSafeEqual(given, token)
}

/** The token without surrounding white space; undefined if the file cannot be read or is empty: the current token then stays valid. */
function readToken(file: string): Buffer | undefined {
  try {
    const text = readFileSync(file, 'utf8').trim()
    return text === '' ? undefined : Buffer.from(text)
  } catch {
    return undefined
  }
}
