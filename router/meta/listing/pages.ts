/** Pages of sorted lists by a cursor that stays right when the list changes: it tells the last key that was given. Pure. */
import { createHash } from 'node:crypto'

const LONGEST_CURSOR = 256
/** Cursors cost tokens: of a longer key only its beginning is in the cursor, and a hash that tells it from its like. */
const LONGEST_KEY = 32
const BEGINNING = 24
const HASH_CHARACTERS = 8
const HASH_SIGN = '\0'
/** Of a hash of what was asked, by which cursors of something else are told. */
const ASKED_CHARACTERS = 4
const RANK = /^\d{1,4}$/

export type Page<T> = { items: T[]; nextCursor?: string }

/**
 * The items after the cursor's key, as long as `fits` takes them, but at least one; `keyOf` must grow with the position.
 * `asked`: what is paged through; its cursors are valid for nothing else. Undefined where the cursor is none of them. Nothing is missed, whatever came or went meanwhile; where the last item itself went,
 * some that begin like it may come twice.
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
  const told = toldBy(cursor, asked)
  if (told === undefined) return undefined
  const [after = '', hash] = told.split(HASH_SIGN)
  const rest = [...items].filter(item => keyOf(item) > after)
  if (hash === undefined) return rest
  const last = rest.findIndex(item => keyOf(item).startsWith(after) && hashOf(keyOf(item)) === hash)
  return rest.slice(last + 1)
}

/** The cursor of the place `rank`, from 0, in what a search found. */
export function rankCursor(rank: number, asked: string): string {
  return cursorOf(String(rank), asked)
}

/** The place that such a cursor leads to; undefined where it is none of that search. */
export function rankAt(cursor: unknown, asked: string): number | undefined {
  const told = toldBy(cursor, asked)
  return told !== undefined && RANK.test(told) ? Number(told) : undefined
}

function toldBy(cursor: unknown, asked: string): string | undefined {
  if (typeof cursor !== 'string' || cursor.length > LONGEST_CURSOR) return undefined
  const text = Buffer.from(cursor, 'base64url').toString()
  return text.startsWith(signOf(asked)) ? text.slice(ASKED_CHARACTERS) : undefined
}

function signOf(asked: string): string {
  return hashOf(asked).slice(0, ASKED_CHARACTERS)
}

function cursorOf(key: string, asked: string): string {
  const isShort = key.length <= LONGEST_KEY && !key.includes(HASH_SIGN)
  const [start = ''] = key.slice(0, BEGINNING).split(HASH_SIGN)
  const told = isShort ? key : `${start.replace(/[\uD800-\uDBFF]$/, '')}${HASH_SIGN}${hashOf(key)}`
  return Buffer.from(`${signOf(asked)}${told}`).toString('base64url')
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, HASH_CHARACTERS)
}
