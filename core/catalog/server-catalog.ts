/** What one upstream offers, as found by discovery: the unit that is cached, sliced and sent to routers. */
import type { Prompt, Resource, ResourceTemplate, Tool } from '@modelcontextprotocol/sdk/types.js'
import type { JsonObject } from '../json.ts'

export type ServerCatalog = {
  /** metadata.name of the McpServer. */
  server: string
  /** The negotiated protocol revision, such as `2025-11-25`. */
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
  /** Lists that were declared but could not be read, with the reason; the other lists are not affected. */
  incomplete: { list: 'resources' | 'resourceTemplates' | 'prompts'; message: string }[]
  /** Tools that changed since they were approved and are kept from agents; see pin.ts. */
  held?: { tools: HeldTool[] /** `digest` of the catalog as it was found. */; foundDigest: string }
  /** sha256 (hex) of everything above in canonical form, without `digest`: equal content, equal digest. */
  digest: string
  /** Sentence vectors of what is offered; absent until they are encoded, and not part of the digest. */
  vectors?: CatalogVectors
}

/** Vectors by the key of their text, so that a vector stays valid as long as its text does not change. */
export type CatalogVectors = {
  /** Id of the encoder that made them: vectors of different encoders cannot be compared. */
  encoder: string
  /** Digest of keys and vectors. */
  digest: string
  /** Keys of SearchText, sorted. */
  keys: string[]
  /** The packed vectors in the order of the keys, in base64; see vectors.ts. */
  data: string
}

export type CatalogTool = {
  /** The upstream's own definition, unknown fields kept: at least `name` and an object `inputSchema`. */
  definition: ToolDefinition
  /** o200k_base tokens of JSON.stringify({name, description, inputSchema}). */
  tokens: number
  /** Tokens of the description's text and of the schema's JSON, to compute the cost of search results. */
  descriptionTokens: number
  schemaTokens: number
}

/** `added`: a tool that was not there when the others were approved. */
export type HeldTool = CatalogTool & { change: 'changed' | 'added' }

/**
 * Definitions as upstreams list them. Discovery has checked only the typed fields: all other fields may be invalid
 * and must be read defensively.
 */
export type ToolDefinition = JsonObject & Pick<Tool, 'name' | 'description'> & { inputSchema: JsonObject }
export type ResourceDefinition = JsonObject & Pick<Resource, 'uri'>
export type TemplateDefinition = JsonObject & Pick<ResourceTemplate, 'uriTemplate'>
export type PromptDefinition = JsonObject & Pick<Prompt, 'name'>

export type InvalidItem = { name?: string; reason: string }
