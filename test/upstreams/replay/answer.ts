/** The answers of a replayed server: its recorded lists, calls that echo their arguments, and a few sample resources and prompts. */
import type { JsonObject } from '../../../core/json.ts'
import type { ReplayCatalog } from './catalogs.ts'

export type ReplayMessage = { id?: number | string | null; method?: string; params?: JsonObject }

/** Returns the JSON text of the answer to a message; undefined for notifications. */
export type Answerer = (message: ReplayMessage) => string | undefined

export const SAMPLE_RESOURCES = [
  { uri: 'text://sample/note', name: 'note', title: 'A note', mimeType: 'text/plain', size: 5 },
  { uri: 'blob://sample/dot', name: 'dot', mimeType: 'image/png' },
  {
    uri: 'ui://sample/panel',
    name: 'panel',
    mimeType: 'text/html;profile=mcp-app',
    _meta: { ui: { prefersBorder: true } },
  },
]
export const SAMPLE_TEMPLATES = [
  { uriTemplate: 'text://sample/items/{id}', name: 'item', mimeType: 'text/plain' },
]
export const SAMPLE_PROMPTS = [
  { name: 'summarize', description: 'Summarizes a topic', arguments: [{ name: 'topic', required: true }] },
]
/** A PNG with one pixel. */
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

export function createAnswerer(catalog: ReplayCatalog): Answerer {
  const { protocolVersion, serverInfo, capabilities, instructions, tools } = catalog
  const fixed = new Map<string, string>()
  const fix = (method: string, result: object) => fixed.set(method, JSON.stringify(result))
  fix('initialize', { protocolVersion, capabilities, serverInfo, instructions })
  fix('ping', {})
  fix('tools/list', { tools })
  if (capabilities.resources) {
    fix('resources/list', { resources: SAMPLE_RESOURCES })
    fix('resources/templates/list', { resourceTemplates: SAMPLE_TEMPLATES })
  }
  if (capabilities.prompts) fix('prompts/list', { prompts: SAMPLE_PROMPTS })
  const names = new Set(tools.map(tool => tool.name))

  return ({ id, method = '', params = {} }) => {
    if (id === undefined || id === null) return undefined
    const result = fixed.get(method) ?? answerParams(method, params, names)
    if (result !== undefined) return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`
    const unknown =
      method === 'tools/call' ? { code: -32602, message: `Unknown tool: ${params.name}` } : undefined
    return JSON.stringify({
      jsonrpc: '2.0',
      id,
      error: unknown ?? { code: -32601, message: `Cannot answer ${method}` },
    })
  }
}

function answerParams(method: string, params: JsonObject, names: Set<string>): string | undefined {
  if (method === 'tools/call') return names.has(String(params.name)) ? echo(params) : undefined
  if (method === 'resources/read') return readResource(String(params.uri))
  if (method !== 'prompts/get') return undefined
  const text = `Summarize: ${JSON.stringify(params.arguments ?? {})}`
  return JSON.stringify({ messages: [{ role: 'user', content: { type: 'text', text } }] })
}

function echo(params: JsonObject): string {
  const call = `{"tool":${JSON.stringify(params.name)},"arguments":${JSON.stringify(params.arguments ?? {})}}`
  return `{"content":[{"type":"text","text":${JSON.stringify(call)}}],"structuredContent":{"echo":${call}}}`
}

function readResource(uri: string): string | undefined {
  const known = SAMPLE_RESOURCES.find(resource => resource.uri === uri)
  if (!known && !uri.startsWith('text://sample/items/')) return undefined
  const mimeType = known?.mimeType ?? 'text/plain'
  const meta = known?._meta ? { _meta: known._meta } : {}
  const body = uri.startsWith('blob:')
    ? { blob: DOT }
    : { text: uri.startsWith('ui:') ? '<p>panel</p>' : `text of ${uri}` }
  return JSON.stringify({ contents: [{ uri, mimeType, ...body, ...meta }] })
}
