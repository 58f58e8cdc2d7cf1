/** What one upstream offers, as discovery found it: the unit that is cached, sliced and shipped to routers. */
import type { Prompt, Resource, ResourceTemplate, Tool } from '@modelcontextprotocol/sdk/types.js'
import type { JsonObject } from '../json.ts'

export type ServerCatalog = {
  /** metadata.name of the McpServer. */
  server: string
  /** The protocol revision that was negotiated, such as `2025-11-25`. */
  protocol: string
  serverInfo?: JsonObject
  instructions?: string
  capabilities: JsonObject
  /** Valid tools, sorted by name. */
  tools: CatalogTool[]
  /** Tools left out, each with the reason. */
  invalid: InvalidItem[]
  /** As listed by the upstream, sorted by uri, uriTemplate and name; unknown fields kept. */
  resources: ResourceDefinition[]
  resourceTemplates: TemplateDefinition[]
  prompts: PromptDefinition[]
  /** Lists that were declared and could not be read: their failure costs a reason, nothing else. */
  incomplete: { list: 'resources' | 'resourceTemplates' | 'prompts'; message: string }[]
  /** sha256 (hex) of everything above in canonical form, without `digest`: equal content, equal digest. */
  digest: string
  /** Sentence vectors of what is offered; absent until they are made, and no part of the digest. */
  vectors?: CatalogVectors
}

/** Vectors by the key of the text that each was made from, so that any of them holds as long as its text does. */
export type CatalogVectors = {
  /** Id of the encoder that made them: those of another one say nothing. */
  encoder: string
  /** Another one wherever any of them is another one. */
  digest: string
  /** Sorted; see search-text.ts. */
  keys: string[]
  /** The packed vectors in the order of the keys, in base64; see vectors.ts. */
  data: string
}

export type CatalogTool = {
  /** The upstream's own definition, unknown fields kept: at least `name` and an object `inputSchema`. */
  definition: ToolDefinition
  /** o200k_base tokens of JSON.stringify({name, description, inputSchema}). */
  tokens: number
  /** Parts of it, for what discovery answers cost: tokens of the description's text and of the schema's JSON. */
  descriptionTokens: number
  schemaTokens: number
}

/**
 * Definitions as upstreams list them. They are the protocol's as far as discovery has checked them: what else they hold may be wrong,
 * and is read with care.
 */
export type ToolDefinition = JsonObject & Pick<Tool, 'name' | 'description'> & { inputSchema: JsonObject }
export type ResourceDefinition = JsonObject & Pick<Resource, 'uri'>
export type TemplateDefinition = JsonObject & Pick<ResourceTemplate, 'uriTemplate'>
export type PromptDefinition = JsonObject & Pick<Prompt, 'name'>

export type InvalidItem = { name?: string; reason: string }
