/** What a meta-tool is, and what it works with. */
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import type { Vector } from '../../core/catalog/vectors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { McpReply, McpRequest } from '../../core/mcp/front/handler.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { RouterObserver, TokenRoute } from '../observer.ts'
import type { Pool } from '../upstream/pool.ts'

/** One request under way: it keeps the catalog it began with, whatever is swapped meanwhile. */
export type Work = {
  readonly request: McpRequest
  readonly catalog: Catalog
  readonly pool: Pool
  readonly observer: RouterObserver
  /** The vector of a query; undefined where there is none to be had now, and words alone have to do. Absent: there is no encoder. */
  readonly encodeQuery?: QueryEncoder
  /** performance.now() at the request's arrival. */
  readonly arrivedMs: number
}

/** Never rejects. */
export type QueryEncoder = (text: string, signal: AbortSignal) => Promise<Vector | undefined>

/** Under which label the tokens of an answer are counted. */
export function tokenRoute({ request: { route } }: Work): TokenRoute {
  return route.kind === 'server' ? 'server' : route.profile
}

export type MetaTool = {
  definition: ToolDefinition
  call(work: Work, args: JsonObject): McpReply | Promise<McpReply>
}
