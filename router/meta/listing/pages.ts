/** Pages of sorted lists. A cursor contains the last key returned, so it stays valid when the list changes. Pure. */
import { createHash } from 'node:crypto'

const MAX_CURSOR_CHARACTERS = 256
/** Cursors cost tokens: for longer keys they contain only the beginning and a hash that distinguishes keys with the same beginning. */
const MAX_KEY_CHARACTERS = 32
const BEGINNING_CHARACTERS = 24
const HASH_CHARACTERS = 8
const HASH_SEPARATOR = '\0'
/** Length of the hash of the request parameters, which rejects cursors of other requests. */
const REQUEST_HASH_CHARACTERS = 4
/** A position in the hits of a search, as digits. */
const RANK = /^\d{1,4}$/

export type Page<T> = { items: T[]; nextCursor?: string }

/**
 * Returns the items after the cursor's key while `fits` accepts them, at least one; `keyOf` must increase with the position. `asked`
 * identifies what is paged through: cursors of anything else are invalid. Returns undefined for an invalid cursor. No item is missed
 * when the list changes between pages; if the last item itself was removed, some items whose keys begin with the same characters may be repeated.
 */
export function pageOf<T>(
  items: Iterable<T>,
  keyOf: (item: T) => string,
  cursor: unknown,
  fits: (item: T, count: number) => boolean,
  asked: string,
): Page<T> | undefined {
  const rest = cursor === undefined ? items : itemsAfter(items, keyOf, cursor, asked)
  if (!rest) return undefined
  const page: T[] = []
  for (const item of rest) {
    if (!fits(item, page.length) && page.length > 0)
      return { items: page, nextCursor: cursorOf(keyOf(page.at(-1) as T), asked) }
    page.push(item)
  }
  return { items: page }
}

function itemsAfter<T>(
  items: Iterable<T>,
  keyOf: (item: T) => string,
  cursor: unknown,
  asked: string,
): Iterable<T> | undefined {
  const position = positionIn(cursor, asked)
  if (position === undefined) return undefined
  const [after = '', hash] = position.split(HASH_SEPARATOR)
  const rest = [...items].filter(item => keyOf(item) > after)
  if (hash === undefined) return rest
  const last = rest.findIndex(item => keyOf(item).startsWith(after) && hashOf(keyOf(item)) === hash)
  return rest.slice(last + 1)
}

/** The cursor of position `rank` (from 0) in the hits of a search. */
export function rankCursor(rank: number, asked: string): string {
  return cursorOf(String(rank), asked)
}

/** The position in a cursor made by `rankCursor`; undefined if it does not belong to that search. */
export function rankAt(cursor: unknown, asked: string): number | undefined {
  const position = positionIn(cursor, asked)
  return position !== undefined && RANK.test(position) ? Number(position) : undefined
}

/** The text in a cursor: a key, the beginning of one with its hash, or a position. Undefined if the cursor belongs to another request. */
function positionIn(cursor: unknown, asked: string): string | undefined {
  if (typeof cursor !== 'string' || cursor.length > MAX_CURSOR_CHARACTERS) return undefined
  const text = Buffer.from(cursor, 'base64url').toString()
  return text.startsWith(requestHash(asked)) ? text.slice(REQUEST_HASH_CHARACTERS) : undefined
}

function requestHash(asked: string): string {
  return hashOf(asked).slice(0, REQUEST_HASH_CHARACTERS)
}

function cursorOf(key: string, asked: string): string {
  const isShort = key.length <= MAX_KEY_CHARACTERS && !key.includes(HASH_SEPARATOR)
  const [start = ''] = key.slice(0, BEGINNING_CHARACTERS).split(HASH_SEPARATOR)
  const position = isShort ? key : `${start.replace(/[\uD800-\uDBFF]$/, '')}${HASH_SEPARATOR}${hashOf(key)}`
  return Buffer.from(`${requestHash(asked)}${position}`).toString('base64url')
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, HASH_CHARACTERS)
}
