/** What a meta-tool is, and what it works with. */
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import type { JsonObject } from '../../core/json.ts'
import type { McpReply, McpRequest } from '../../core/mcp/front/handler.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { RouterObserver } from '../observer.ts'
import type { Pool } from '../upstream/pool.ts'

/** One request under way: it keeps the catalog it began with, whatever is swapped meanwhile. */
export type Work = {
  readonly request: McpRequest
  readonly catalog: Catalog
  readonly pool: Pool
  readonly observer: RouterObserver
  /** performance.now() at the request's arrival. */
  readonly arrivedMs: number
}

export type MetaTool = {
  definition: ToolDefinition
  call(work: Work, args: JsonObject): McpReply | Promise<McpReply>
}
