/** A part of a kept result, and how resources/read carries it: its text, and under `_meta` how much there is and what comes next. Pure. */
import { Fault } from '../../../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { type Handle, listedHandle, parseHandle } from './handle.ts'

/** Places in bytes of the whole text; `next` leads to the part after it, and is absent at the end. */
export type Part = { text: string; end: number; bytes: number; next?: Handle }

const NEXT = 'portolan.dev/next'
const BYTES = 'portolan.dev/bytes'

/** The result of resources/read for a part. */
export function nativePart(uri: string, { text, bytes, next }: Part): JsonObject {
  const _meta: JsonObject = { [BYTES]: bytes, ...(next && { [NEXT]: listedHandle(next) }) }
  return { contents: [{ uri, mimeType: 'text/plain', text, _meta }] }
}

/** Reads such a result, which answered for `handle`; undefined where it carries no part. */
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

export function notKept(): Fault {
  return new Fault('not_found', 'no such result is kept')
}
