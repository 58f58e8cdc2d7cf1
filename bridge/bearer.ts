/** Checks the callers' bearer token in constant time; the token file is read again when it changes. */
import { timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Clock } from '../core/async.ts'
import { Fault } from '../core/errors.ts'

/** Kubernetes replaces a mounted Secret without notice, so the file is read again, but not for every request. */
const REREAD_MS = 1_000
/** How long the token before the present one is admitted. */
const FORMER_MS = 5 * 60_000
const SCHEME = /^bearer +/i

/**
 * Returns a function that checks an Authorization header. While the token is rotated it admits the new and the former one, so that no call
 * of a caller that has not heard of it yet is refused. Throws Fault `io` if the file has no token at the start.
 */
export function createBearerCheck(file: string, clock: Clock): (header: string | undefined) => boolean {
  let token = readToken(file)
  if (!token) throw new Fault('io', `The token file ${file} is missing or empty.`)
  let former: { token: Buffer; until: number } | undefined
  let readAt = clock.now()
  const reread = (now: number) => {
    readAt = now
    const found = readToken(file)
    if (former && now >= former.until) former = undefined
    if (!found || !token || found.equals(token)) return
    former = { token, until: now + FORMER_MS }
    token = found
  }
  return header => {
    const now = clock.now()
    if (Math.abs(now - readAt) >= REREAD_MS) reread(now)
    if (header === undefined || !SCHEME.test(header)) return false
    const given = Buffer.from(header.replace(SCHEME, ''))
    return isEqual(given, token) || isEqual(given, former?.token)
  }
}

function isEqual(given: Buffer, token: Buffer | undefined): boolean {
  return given.length === token?.length && timingSafeEqual(given, token)
}

/** Undefined if no token can be read; the previous one then stays valid. */
function readToken(file: string): Buffer | undefined {
  try {
    const text = readFileSync(file, 'utf8').trim()
    return text === '' ? undefined : Buffer.from(text)
  } catch {
    return undefined
  }
}
