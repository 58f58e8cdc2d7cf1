/** Checks the callers' bearer token in constant time; the token file is read again when it changes. */
import { timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Clock } from '../core/async.ts'
import { Fault } from '../core/errors.ts'

/** Kubernetes replaces a mounted Secret without notice, so the file is read again, but not for every request. */
const REREAD_MS = 1_000
const SCHEME = /^bearer +/i

/** Returns a function that checks an Authorization header. Throws Fault `io` if the file has no token at the start. */
export function createBearerCheck(file: string, clock: Clock): (header: string | undefined) => boolean {
  let token = readToken(file)
  if (!token) throw new Fault('io', `The token file ${file} is missing or empty.`)
  let readAt = clock.now()
  return header => {
    if (clock.now() - readAt >= REREAD_MS) {
      readAt = clock.now()
      token = readToken(file) ?? token
    }
    if (header === undefined || !SCHEME.test(header)) return false
    const given = Buffer.from(header.replace(SCHEME, ''))
    return given.length === token?.length && timingSafeEqual(given, token)
  }
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
