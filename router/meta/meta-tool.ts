/** The type of a meta-tool, and the context of a request that it works with. */
import type { Tool } from '@modelcontextprotocol/sdk/types.js'
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import type { Vector } from '../../core/catalog/vectors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { McpResponse, Notification } from '../../core/mcp/protocol/json-rpc.ts'
import type { Clients } from '../../core/mcp/server/clients.ts'
import type { McpRequest, McpRoute } from '../../core/mcp/server/handler.ts'
import type { Span } from '../../core/trace.ts'
import type { Limits } from '../access/limits.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Scripts } from '../code/scripts.ts'
import type { RouterObserver, TokenRoute } from '../observer.ts'
import type { Pool } from '../upstream/pool.ts'
import type { SchemaChecks } from './arguments/schema-checks.ts'
import type { Once } from './once.ts'
import type { ActivatedSets } from './profiles/registry/activated.ts'
import type { KeptResults } from './results/kept-results.ts'
import type { Turns } from './turns.ts'
import type { ProfileWords } from './wording/profile-words.ts'

/** The context of one request. It keeps the catalog it began with, even if a new one is swapped in meanwhile. */
export type Work = {
  readonly request: McpRequest
  readonly catalog: Catalog
  /** Texts of the profile that the caller uses. */
  readonly words: ProfileWords
  readonly pool: Pool
  readonly observer: RouterObserver
  /** Encodes a query; resolves with undefined if there is no vector now and search must use words alone. Absent: no encoder. */
  readonly encodeQuery?: QueryEncoder
  /** The tools that clients of the registry profile have activated. */
  readonly activated: ActivatedSets
  /** Checks arguments against the schemas of tools. */
  readonly schemas: SchemaChecks
  /** How often callers may call tools. */
  readonly limits: Limits
  /** Caches values for the lifetime of a catalog. */
  readonly once: Once
  /** Runs the steps of a search, so that others are served between them. */
  readonly turns: Turns
  /** State of clients between their requests. Absent: clients get no notifications between requests. */
  readonly clients?: Clients
  /** Stores texts that are cut out of results. Absent: they are lost, and the answer says so. */
  readonly results?: KeptResults
  /** Runs scripts of agents. Absent: none are run. */
  readonly scripts?: Scripts
  /** Id of the script that makes this request, and whether it is a reviewed one. */
  readonly script?: string
  readonly reviewed?: boolean
  /** performance.now() at the request's arrival. */
  readonly arrivedMs: number
  /** Span of the request; absent: not traced. */
  readonly span?: Span
}

/** Resolves with undefined if there is no vector now. Never rejects. */
export type QueryEncoder = (text: string, signal: AbortSignal) => Promise<Vector | undefined>

/** Sends the caller a notification that does not belong to its request: on its own stream if it has one, else before the answer. */
export function tellCaller({ clients, request }: Work, notification: Notification): void {
  const { client, notify } = request.caller
  const delivered = client !== undefined && clients?.notify(client, notification)
  if (!delivered) notify?.(notification)
}

/** Label under which the tokens of an answer are counted. */
export function tokenRoute({ request: { route } }: Work): TokenRoute {
  return route.kind === 'server' ? 'server' : route.profile
}

/** A unique name for each route. */
export function routeName(route: McpRoute): string {
  return route.kind === 'server' ? `server ${route.server}` : `profile ${route.profile}`
}

/** Whether the route is that of the direct profile, which lists all tools. */
export function isDirect(route: McpRoute): boolean {
  return route.kind === 'gateway' && route.profile === 'direct'
}

export type MetaTool = {
  definition: ToolDefinition & Tool
  call(work: Work, args: JsonObject): McpResponse | Promise<McpResponse>
  /** The name of the tool or prompt that it calls; undefined: not given as documented. Absent: it may use the lists of all servers. */
  nameUsed?(args: JsonObject): unknown
}
