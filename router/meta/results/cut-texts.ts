/** Limits the texts of a tool result in bytes; what is cut off is stored, and the result says how to read it. */
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import type { Work } from '../meta-tool.ts'
import { cutNote, lossNote } from './cut-note.ts'
import { endOfPart } from './end-of-part.ts'

/** Returns the same object if nothing must be cut. Only text content is cut, no other content and no structured content. */
export function cutTexts(work: Work, result: JsonObject, mostBytes: number): JsonObject {
  const { content } = result
  if (!Array.isArray(content)) return result
  const length = content.reduce<number>((sum, item) => sum + textOf(item).length, 0)
  if (length * 3 <= mostBytes) return result // UTF-8 needs at most three bytes for a UTF-16 code unit.
  const texts = content.map(item => Buffer.from(textOf(item)))
  const sizes = texts.map(text => text.length)
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  return bytes <= mostBytes ? result : cut(work, result, content, texts, mostBytes)
}

/** Cuts the first text that does not fit and leaves out those after it; they are stored together, joined by line breaks. */
function cut(
  work: Work,
  result: JsonObject,
  content: readonly JsonValue[],
  texts: readonly Buffer[],
  mostBytes: number,
): JsonObject {
  let left = mostBytes
  const first = texts.findIndex(text => {
    left -= text.length
    return left < 0
  })
  const room = left + (texts[first] as Buffer).length
  const rest = joined(texts.slice(first).filter(text => text.length > 0))
  const end = Math.min(endOfPart(rest, 0, room), (texts[first] as Buffer).length)
  const shown = content.map((item, at) => {
    if (at < first || textOf(item) === '') return item
    return { ...(item as JsonObject), text: at === first ? rest.toString('utf8', 0, end) : '' }
  })
  return { ...result, content: [...shown, ...notes(work, rest, end, mostBytes)] }
}

/** Stores the texts from the first cut one on, and says how to read on after `end`, or that text is lost. */
function notes(work: Work, rest: Buffer, end: number, mostBytes: number): JsonObject[] {
  const kept = work.results?.keep(rest, end, mostBytes, work.request.caller.identity.id)
  const lost = rest.length - Math.max(kept?.keptBytes ?? 0, end)
  const texts: string[] = []
  if (kept && end < kept.keptBytes) texts.push(cutNote(work, end, kept.keptBytes, kept.handle))
  if (lost > 0) texts.push(lossNote(lost, mostBytes))
  return texts.map(text => ({ type: 'text', text }))
}

function joined(texts: readonly Buffer[]): Buffer {
  if (texts.length === 1) return texts[0] as Buffer
  return Buffer.concat(texts.flatMap((text, at) => (at === 0 ? [text] : [LINE_BREAK, text])))
}

const LINE_BREAK = Buffer.from('\n')

function textOf(item: JsonValue): string {
  return isObject(item) && item.type === 'text' && typeof item.text === 'string' ? item.text : ''
}
