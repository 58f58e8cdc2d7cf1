/** Reads the parts of a tool's or a resource's answer that the page can show. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'

export type Part =
  | { kind: 'text'; text: string }
  | { kind: 'image'; mimeType: string; data: string }
  | { kind: 'link'; uri: string; name: string }
  | { kind: 'bytes'; mimeType: string; size: number }

/** Images that a browser shows without running code. SVG is not one of them. */
const IMAGES: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
])
const MAX_PARTS = 200
const MAX_DATA_CHARACTERS = 16_000_000
/** A word that needs no quotes in a shell. */
const PLAIN_WORD = /^[\w:./@%+-]+$/

/** `list` is `content` of a tool's result, or `contents` of a resource's. */
export function partsOf(list: JsonValue | undefined): Part[] {
  if (!Array.isArray(list)) return []
  return list.slice(0, MAX_PARTS).flatMap(part => (isObject(part) ? [partOf(part)] : []))
}

function partOf(part: JsonObject): Part {
  const { type, text, uri, name, resource, mimeType } = part
  if (typeof text === 'string') return { kind: 'text', text }
  if (isObject(resource)) return partOf(resource)
  const data = part.data ?? part.blob
  const mime = typeof mimeType === 'string' ? mimeType : 'application/octet-stream'
  if (typeof data === 'string')
    return IMAGES.has(mime) && data.length <= MAX_DATA_CHARACTERS
      ? { kind: 'image', mimeType: mime, data }
      : { kind: 'bytes', mimeType: mime, size: Math.floor((data.length * 3) / 4) }
  if (type === 'resource_link' && typeof uri === 'string')
    return { kind: 'link', uri, name: typeof name === 'string' ? name : uri }
  return { kind: 'text', text: JSON.stringify(part, null, 2) }
}

export type Question = { key: string; message: string; schema: JsonObject; url?: string }

/** The questions of a server that wait for answers; undefined if it asks nothing. */
export function questionsIn(result: JsonObject): Question[] | undefined {
  if (result.resultType !== 'input_required' || !isObject(result.inputRequests)) return undefined
  return Object.entries(result.inputRequests).flatMap(([key, asked]) => {
    const params = isObject(asked) && isObject(asked.params) ? asked.params : {}
    const { message, requestedSchema, url } = params
    return [
      {
        key,
        message: typeof message === 'string' ? message : 'The server asks something.',
        schema: isObject(requestedSchema) ? requestedSchema : {},
        ...(typeof url === 'string' && { url }),
      },
    ]
  })
}

/** The command that makes this call, for a shell. Servers choose the names of their tools, so nothing in the path may take effect. */
export function shellCall(path: string, args: JsonObject): string {
  return `npx portolan call ${PLAIN_WORD.test(path) ? path : quoted(path)} ${quoted(JSON.stringify(args))}`
}

/** One word of a shell. Control characters are escaped (POSIX 2024), since a terminal into which they are pasted could act on them before the shell does. */
function quoted(text: string): string {
  if (!/\p{Cc}/u.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`
  const escapeOf = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `$'${text.replace(/[\\'\p{Cc}]/gu, escapeOf)}'`
}
