/** What a meta-tool is, and what it works with. */
import type { Tool } from '@modelcontextprotocol/sdk/types.js'
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import type { Vector } from '../../core/catalog/vectors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { McpResponse, Notification } from '../../core/mcp/protocol/json-rpc.ts'
import type { Clients } from '../../core/mcp/server/clients.ts'
import type { McpRequest, McpRoute } from '../../core/mcp/server/handler.ts'
import type { Span } from '../../core/trace.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { RouterObserver, TokenRoute } from '../observer.ts'
import type { Pool } from '../upstream/pool.ts'
import type { SchemaChecks } from './arguments/schema-checks.ts'
import type { Once } from './once.ts'
import type { ActivatedSets } from './profiles/registry/activated.ts'
import type { KeptResults } from './results/kept-results.ts'
import type { ProfileWords } from './wording/profile-words.ts'

/** One request under way: it keeps the catalog it began with, whatever is swapped meanwhile. */
export type Work = {
  readonly request: McpRequest
  readonly catalog: Catalog
  /** Of the profile that the caller uses. */
  readonly words: ProfileWords
  readonly pool: Pool
  readonly observer: RouterObserver
  /** The vector of a query; undefined where there is none to be had now, and words alone have to do. Absent: there is no encoder. */
  readonly encodeQuery?: QueryEncoder
  /** What the clients of the registry profile have activated. */
  readonly activated: ActivatedSets
  readonly schemas: SchemaChecks
  /** What is made once a catalog. */
  readonly once: Once
  /** Clients between their requests; absent: nothing is said to them then. */
  readonly clients?: Clients
  /** What was cut out of results; absent: it is lost, and the answer says so. */
  readonly results?: KeptResults
  /** performance.now() at the request's arrival. */
  readonly arrivedMs: number
  /** Of the request; absent: nothing is traced. */
  readonly span?: Span
}

/** Never rejects. */
export type QueryEncoder = (text: string, signal: AbortSignal) => Promise<Vector | undefined>

/** Tells the caller something that is no part of its request: on a stream of its own where it has one, else ahead of the answer. */
export function tellCaller({ clients, request }: Work, notification: Notification): void {
  const { client, notify } = request.caller
  const told = client !== undefined && clients?.notify(client, notification)
  if (!told) notify?.(notification)
}

/** Under which label the tokens of an answer are counted. */
export function tokenRoute({ request: { route } }: Work): TokenRoute {
  return route.kind === 'server' ? 'server' : route.profile
}

/** Tells routes apart. */
export function routeName(route: McpRoute): string {
  return route.kind === 'server' ? `server ${route.server}` : `profile ${route.profile}`
}

/** Whether all tools are listed. */
export function isDirect(route: McpRoute): boolean {
  return route.kind === 'gateway' && route.profile === 'direct'
}

export type MetaTool = {
  definition: ToolDefinition & Tool
  call(work: Work, args: JsonObject): McpResponse | Promise<McpResponse>
}
