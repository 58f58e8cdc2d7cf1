/** The result of a tool as text for a terminal. Pure. */
import { isObject, type JsonObject } from '../core/json.ts'

/** Texts as they are; for other content, its kind and size. If there is no content, the structured content as JSON. */
export function answerText(result: JsonObject): string {
  const content = Array.isArray(result.content) ? result.content.filter(isObject) : []
  const parts = content.map(item => {
    if (item.type === 'text') return String(item.text)
    if (item.type === 'resource' && isObject(item.resource)) return resourceText(item.resource)
    if (item.type === 'resource_link') return `<${String(item.uri)}>`
    return `<${String(item.type)} ${String(item.mimeType ?? '')}, ${String(item.data ?? '').length} characters of base64>`
  })
  if (parts.length === 0 && result.structuredContent !== undefined)
    return JSON.stringify(result.structuredContent, null, 2)
  return parts.join('\n')
}

function resourceText({ uri, text, mimeType }: JsonObject): string {
  return typeof text === 'string' ? text : `<${String(uri)}, ${String(mimeType ?? 'binary')}>`
}
