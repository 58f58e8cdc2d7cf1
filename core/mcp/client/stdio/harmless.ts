/** Removes secrets and control characters from a child's output before it is logged or shown. Pure. */
import { stripVTControlCharacters } from 'node:util'
import { plainLines } from '../../../hidden-characters.ts'

const MASK = '[redacted]'
/** Shorter values are not masked: they occur in ordinary words. */
const SHORTEST_SECRET = 4
const NAMED =
  /((?:authorization|token|secret|passwd|password|api[_-]?key)["']?\s*[=:]\s*["']?)(?:(?:bearer|basic)\s+)?[^\s"',;]+/gi
const BEARER = /(bearer\s+)[\w.~+/=-]{8,}/gi
const USER_INFO = /(:\/\/)[^/\s:@]*:[^/\s]+(?=@)/g

/** One line without the given secrets, values named like secrets, and terminal colours. Other control characters are described. */
export function harmless(line: string, secrets: readonly string[]): string {
  let text = stripVTControlCharacters(line).trimEnd()
  for (const secret of secrets) if (secret.length >= SHORTEST_SECRET) text = text.replaceAll(secret, MASK)
  text = text.replace(NAMED, `$1${MASK}`).replace(BEARER, `$1${MASK}`).replace(USER_INFO, `$1${MASK}`)
  // What was removed may have stood within another sequence, which is complete now.
  return plainLines(text)
}

/** Each line of the secrets, longest first, so that none is replaced only in part. */
export function secretLines(secrets: readonly string[]): string[] {
  return secrets
    .flatMap(secret => secret.split(/\r?\n/))
    .filter(secret => secret.length >= SHORTEST_SECRET)
    .sort((a, b) => b.length - a.length)
}
