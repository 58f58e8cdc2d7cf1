/** Tools, resources, templates and prompts as documents of the search, with all that is known of their server. Pure. */
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import type { ServerCatalog, ToolDefinition } from '../../../core/catalog/server-catalog.ts'
import type { JsonObject, JsonValue } from '../../../core/json.ts'
import type { SearchDocument } from './search-index.ts'

/** The document of a tool. `definition`: with the manifest's overrides. */
export function toolDocument(
  server: RouterServer,
  catalog: ServerCatalog,
  definition: ToolDefinition,
): SearchDocument {
  const override = Object.hasOwn(server.tools.overrides, definition.name)
    ? server.tools.overrides[definition.name]
    : undefined
  return {
    ...serverFields(server, catalog),
    tool: definition.name,
    title: text(definition.title),
    description: definition.description,
    inputSchema: definition.inputSchema,
    keywords: [...(override?.category ? [override.category] : []), ...(override?.keywords ?? [])],
  }
}

/** The document of a resource, a template or a prompt. The arguments of a prompt are read as those of a tool. */
export function itemDocument(
  server: RouterServer,
  catalog: ServerCatalog,
  kind: NonNullable<SearchDocument['kind']>,
  definition: JsonObject,
): SearchDocument {
  return {
    ...serverFields(server, catalog),
    kind,
    tool: text(definition.name) ?? '',
    title: text(definition.title),
    description: text(definition.description),
    uri: text(definition.uri) ?? text(definition.uriTemplate),
    inputSchema: Array.isArray(definition.arguments) ? argumentsSchema(definition.arguments) : undefined,
    keywords: [],
  }
}

function serverFields(server: RouterServer, { serverInfo, instructions }: ServerCatalog) {
  return {
    server: server.name,
    serverTitle: server.title,
    serverDescription: server.description,
    serverKeywords: [...(server.category ? [server.category] : []), ...server.keywords],
    upstreamTitle: text(serverInfo?.title) ?? text(serverInfo?.name),
    instructions,
  }
}

function argumentsSchema(list: readonly JsonValue[]): JsonObject {
  const properties = list.flatMap(argument => {
    const { name, description = '' } = (argument ?? {}) as { name?: JsonValue; description?: JsonValue }
    return typeof name === 'string' ? [[name, { description }] as const] : []
  })
  return { type: 'object', properties: Object.fromEntries(properties) }
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
