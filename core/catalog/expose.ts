/** Rewrites the URIs in an upstream's answers to those of a gateway; a value that needs no change is returned itself, not a copy. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../json.ts'
import { exposedUri } from './names.ts'

/** A result of tools/call: resource links, embedded resources and `_meta.ui.resourceUri`. */
export function exposeToolResult(server: string, result: JsonObject): JsonObject {
  return exposeMeta(
    server,
    withList(result, 'content', item => exposeContent(server, item)),
  )
}

/** A result of prompts/get: the same within its messages. */
export function exposePromptResult(server: string, result: JsonObject): JsonObject {
  return exposeMeta(
    server,
    withList(result, 'messages', message => {
      if (!isObject(message) || !isObject(message.content)) return message
      const content = exposeContent(server, message.content)
      return content === message.content ? message : { ...message, content }
    }),
  )
}

/** A result of resources/read: the `uri` of every content. */
export function exposeReadResult(server: string, result: JsonObject): JsonObject {
  return exposeMeta(
    server,
    withList(result, 'contents', item => exposeListed(server, item)),
  )
}

/** A tool, a resource, a resource template or a prompt of a list: `uri`, `uriTemplate` and `_meta.ui.resourceUri`. */
export function exposeItem(server: string, item: JsonObject): JsonObject {
  let exposed = exposeMeta(server, item)
  for (const field of ['uri', 'uriTemplate']) {
    const uri = exposed[field]
    if (typeof uri === 'string') exposed = { ...exposed, [field]: exposedUri(server, uri) }
  }
  return exposed
}

function exposeListed(server: string, item: JsonValue): JsonValue {
  return isObject(item) ? exposeItem(server, item) : item
}

function exposeContent(server: string, item: JsonValue): JsonValue {
  if (!isObject(item)) return item
  if (item.type === 'resource_link') return exposeItem(server, item)
  const exposed = exposeMeta(server, item)
  if (item.type !== 'resource' || !isObject(item.resource)) return exposed
  return { ...exposed, resource: exposeItem(server, item.resource) }
}

/** `_meta.ui.resourceUri` of MCP Apps, and the flat key `ui/resourceUri` of its first drafts. */
function exposeMeta(server: string, value: JsonObject): JsonObject {
  const meta = value._meta
  if (!isObject(meta)) return value
  const ui = isObject(meta.ui) ? withUri(server, meta.ui, 'resourceUri') : meta.ui
  const exposed = withUri(server, ui === meta.ui ? meta : { ...meta, ui }, 'ui/resourceUri')
  return exposed === meta ? value : { ...value, _meta: exposed }
}

function withUri(server: string, value: JsonObject, field: string): JsonObject {
  const uri = value[field]
  return typeof uri === 'string' ? { ...value, [field]: exposedUri(server, uri) } : value
}

function withList(value: JsonObject, field: string, change: (item: JsonValue) => JsonValue): JsonObject {
  const list = value[field]
  if (!Array.isArray(list)) return value
  let changed: JsonValue[] | undefined
  for (let index = 0; index < list.length; index++) {
    const item = list[index] as JsonValue
    const next = change(item)
    if (next === item) continue
    changed ??= [...list]
    changed[index] = next
  }
  return changed ? { ...value, [field]: changed } : value
}
