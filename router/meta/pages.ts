/** Pages of sorted lists by a cursor that stays right when the list changes: it holds the last key that was given. Pure. */

const LONGEST_CURSOR = 4_096

export type Page<T> = { items: T[]; nextCursor?: string }

/**
 * The items after the cursor's key, as long as `fits` takes them, but at least one; `keyOf` must grow with the position.
 * Undefined where the cursor is none of ours.
 */
export function pageOf<T>(
  items: Iterable<T>,
  keyOf: (item: T) => string,
  cursor: unknown,
  fits: (item: T, count: number) => boolean,
): Page<T> | undefined {
  const after = cursor === undefined ? '' : readCursor(cursor)
  if (after === undefined) return undefined
  const page: T[] = []
  for (const item of items) {
    if (keyOf(item) <= after) continue
    if (!fits(item, page.length) && page.length > 0)
      return { items: page, nextCursor: cursorOf(keyOf(page.at(-1) as T)) }
    page.push(item)
  }
  return { items: page }
}

function cursorOf(key: string): string {
  return Buffer.from(`>${key}`).toString('base64url')
}

function readCursor(cursor: unknown): string | undefined {
  if (typeof cursor !== 'string' || cursor.length > LONGEST_CURSOR) return undefined
  const text = Buffer.from(cursor, 'base64url').toString()
  return text.startsWith('>') ? text.slice(1) : undefined
}
