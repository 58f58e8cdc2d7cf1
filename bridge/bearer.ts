/** The token that callers must show: compared in constant time, read again when its file changes. */
import { timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Clock } from '../core/async.ts'
import { Fault } from '../core/errors.ts'

/** A mounted Secret is replaced without a word: the file is looked at again, but not for every request. */
const REREAD_MS = 1_000
const SCHEME = /^bearer +/i

/** Whether the Authorization header shows the token. Throws Fault `io` where the file holds none at the start. */
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

/** Undefined while there is none to be read: the one before still holds. */
function readToken(file: string): Buffer | undefined {
  try {
    const text = readFileSync(file, 'utf8').trim()
    return text === '' ? undefined : Buffer.from(text)
  } catch {
    return undefined
  }
}
