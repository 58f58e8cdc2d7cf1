/** Pages of sorted lists by a cursor that stays right when the list changes: it tells the last key that was given. Pure. */
import { createHash } from 'node:crypto'

const LONGEST_CURSOR = 256
/** Cursors cost tokens: of a longer key only its beginning is in the cursor, and a hash that tells it from its like. */
const LONGEST_KEY = 32
const BEGINNING = 24
const HASH_CHARACTERS = 8
const HASH_SIGN = '\0'

/** Of a list, or of what a query found: the cursor of one is none of the other. */
export type Mark = '>' | '?'

export type Page<T> = { items: T[]; nextCursor?: string }

/**
 * The items after the cursor's key, as long as `fits` takes them, but at least one; `keyOf` must grow with the position.
 * Undefined where the cursor is none of ours. Nothing is missed, whatever came or went meanwhile; where the last item itself went,
 * some that begin like it may come twice.
 */
export function pageOf<T>(
  items: Iterable<T>,
  keyOf: (item: T) => string,
  cursor: unknown,
  fits: (item: T, count: number) => boolean,
  mark: Mark = '>',
): Page<T> | undefined {
  const rest = cursor === undefined ? items : itemsAfter(items, keyOf, cursor, mark)
  if (!rest) return undefined
  const page: T[] = []
  for (const item of rest) {
    if (!fits(item, page.length) && page.length > 0)
      return { items: page, nextCursor: cursorOf(keyOf(page.at(-1) as T), mark) }
    page.push(item)
  }
  return { items: page }
}

function itemsAfter<T>(
  items: Iterable<T>,
  keyOf: (item: T) => string,
  cursor: unknown,
  mark: Mark,
): Iterable<T> | undefined {
  if (typeof cursor !== 'string' || cursor.length > LONGEST_CURSOR) return undefined
  const text = Buffer.from(cursor, 'base64url').toString()
  if (!text.startsWith(mark)) return undefined
  const [after = '', hash] = text.slice(1).split(HASH_SIGN)
  const rest = [...items].filter(item => keyOf(item) > after)
  if (hash === undefined) return rest
  const last = rest.findIndex(item => keyOf(item).startsWith(after) && hashOf(keyOf(item)) === hash)
  return rest.slice(last + 1)
}

function cursorOf(key: string, mark: Mark): string {
  const isShort = key.length <= LONGEST_KEY && !key.includes(HASH_SIGN)
  const [start = ''] = key.slice(0, BEGINNING).split(HASH_SIGN)
  const told = isShort ? key : `${start.replace(/[\uD800-\uDBFF]$/, '')}${HASH_SIGN}${hashOf(key)}`
  return Buffer.from(`${mark}${told}`).toString('base64url')
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, HASH_CHARACTERS)
}
