/** Keeps the texts of a tool result within a byte limit, and says what was left out. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'

/** The same object where nothing has to be cut. Only text items are cut: no other content, no structured content. */
export function cutTexts(result: JsonObject, mostBytes: number): JsonObject {
  const { content } = result
  if (!Array.isArray(content)) return result
  const bytes = content.reduce<number>((sum, item) => sum + textOf(item).length, 0)
  if (bytes * 3 <= mostBytes) return result // UTF-8 has at most three bytes a UTF-16 unit.
  return cut(result, content, mostBytes)
}

function cut(result: JsonObject, content: readonly JsonValue[], mostBytes: number): JsonObject {
  let left = mostBytes
  let dropped = 0
  const kept = content.map(item => {
    const text = textOf(item)
    const size = Buffer.byteLength(text)
    const fits = size <= left
    const head = fits
      ? text
      : Buffer.from(text)
          .subarray(0, left)
          .toString()
          .replace(/\uFFFD+$/, '')
    left -= fits ? size : left
    dropped += fits ? 0 : size - Buffer.byteLength(head)
    return fits ? item : { ...(item as JsonObject), text: head }
  })
  if (dropped === 0) return result
  const note = `[Cut: ${dropped} more bytes of text are over the server's limit of ${mostBytes}. Ask for less: a filter, a page or a smaller range.]`
  return { ...result, content: [...kept, { type: 'text', text: note }] }
}

function textOf(item: JsonValue): string {
  return isObject(item) && item.type === 'text' && typeof item.text === 'string' ? item.text : ''
}
