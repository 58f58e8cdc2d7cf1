/** The value that a script gets for a tool's result. One rule, so that the type is the same at each call of a tool. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { countValues, MAX_VALUES, parseJson } from '../../core/parse-json.ts'

/** 1 MiB in base64. Of larger images and sounds, scripts get only the size. */
const MAX_MEDIA_CHARACTERS = (1024 * 1024 * 4) / 3
/** This key of an outputSchema means that the server has wrapped a value that is not an object: it is in `result`. */
const WRAPPED = 'x-fastmcp-wrap-result'

/**
 * Structured content is returned as it is. A single text is parsed if it is a JSON object or list, otherwise returned as a string. An empty result is
 * undefined; several contents are a list, each by the same rule, while the values of all together are not too many.
 */
export function toolValue(result: JsonObject, outputSchema: JsonValue | undefined): JsonValue | undefined {
  const { structuredContent, content } = result
  if (structuredContent !== undefined && structuredContent !== null)
    return isWrapped(outputSchema, structuredContent) ? structuredContent.result : structuredContent
  const blocks = Array.isArray(content) ? content.filter(isObject) : []
  if (blocks.length === 0) return undefined
  if (blocks.length === 1) return blockValue(blocks[0] as JsonObject)
  let left = MAX_VALUES
  return blocks.map(block => {
    const { type, text } = block
    if (type !== 'text' || typeof text !== 'string' || !isParsed(text)) return blockValue(block)
    const values = countValues(text, left)
    if (values > left) return text
    left -= values
    return parsedText(text)
  })
}

/** A text as a value: parsed if it is a JSON object or list without too many values. `"42"` stays a string: the type of what a tool returns must not depend on the value. */
export function parsedText(text: string): JsonValue {
  if (!isParsed(text)) return text
  try {
    return parseJson(text) as JsonValue
  } catch {
    return text
  }
}

function isParsed(text: string): boolean {
  return /^\s*[{[]/.test(text)
}

/** The texts of a result, one a line: the message of an error result. */
export function textsOf({ content }: JsonObject): string {
  const blocks = Array.isArray(content) ? content.filter(isObject) : []
  return blocks
    .flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []))
    .join('\n')
}

function isWrapped(schema: JsonValue | undefined, value: JsonValue): value is { result: JsonValue } {
  return isObject(schema) && schema[WRAPPED] === true && isObject(value) && value.result !== undefined
}

function blockValue(block: JsonObject): JsonValue {
  const { type, text, data, mimeType } = block
  if (type === 'text' && typeof text === 'string') return parsedText(text)
  if (typeof data !== 'string') return block
  const bytes = Math.floor((data.length * 3) / 4)
  const media = { type: type ?? 'media', mimeType: mimeType ?? '', bytes }
  return data.length <= MAX_MEDIA_CHARACTERS ? { ...media, data } : media
}
