/** A part of a stored result, and its form in resources/read: the text, with total size and next handle under `_meta`. Pure. */
import { Fault } from '../../../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { type Handle, listedHandle, parseHandle } from './handle.ts'

/** Positions in bytes of the whole text; `next` points at the following part and is absent at the end. */
export type Part = { text: string; end: number; bytes: number; next?: Handle }

const NEXT = 'portolan.dev/next'
const BYTES = 'portolan.dev/bytes'

/** The resources/read result of a part. */
export function nativePart(uri: string, { text, bytes, next }: Part): JsonObject {
  const _meta: JsonObject = { [BYTES]: bytes, ...(next && { [NEXT]: listedHandle(next) }) }
  return { contents: [{ uri, mimeType: 'text/plain', text, _meta }] }
}

/** Parses such a result, read with `handle`; undefined if it has no part. */
export function readNativePart(result: JsonValue | undefined, { from }: Handle): Part | undefined {
  const contents = isObject(result) && Array.isArray(result.contents) ? result.contents : []
  const [content] = contents.filter(isObject)
  if (typeof content?.text !== 'string') return undefined
  const { text, _meta: meta } = content
  const end = from + Buffer.byteLength(text)
  if (!isObject(meta)) return { text, end, bytes: end }
  const next = typeof meta[NEXT] === 'string' ? parseHandle(meta[NEXT]) : undefined
  return { text, end, bytes: typeof meta[BYTES] === 'number' ? meta[BYTES] : end, next }
}

/** The Fault for a handle whose result is not stored, or that was made for another caller. */
export function notKept(): Fault {
  return new Fault('not_found', 'no such result is kept')
}
