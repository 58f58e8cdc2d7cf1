/**
 * Notifies clients of changed lists: on their stream, or, for clients of the direct profile without a stream, before their next
 * answer if the tools changed.
 */
import { BoundedMap } from '../../../core/bounded-map.ts'
import type { Listening, McpRequest, McpRoute } from '../../../core/mcp/server/handler.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { RestrictCatalog } from '../caller-catalogs.ts'
import { isDirect, routeName } from '../meta-tool.ts'
import type { Once } from '../once.ts'
import { gatewayLists, type Listed, serverList } from './lists.ts'

export const LIST_CHANGED = { method: 'notifications/tools/list_changed' }

export type ListChanges = {
  /** To be called for each request: remembers which list its client has seen, and notifies it of changes since. */
  notice(request: McpRequest, catalog: Catalog): void
  /** Notifies a stream until `signal` aborts. */
  listen(listening: Listening): Promise<void>
  /** Forgets what a client has seen, when its session ends. */
  forget(client: string): void
}

export type ListChangesOptions = {
  /** Yields the current catalog at once, then the newest whenever it changes; ends when `signal` aborts. */
  watch: (signal: AbortSignal) => AsyncIterable<Catalog>
  /** Restricts a catalog for the listener. */
  restrict: RestrictCatalog
  once: Once
  /**
   * Resolves once the gateway's other routers have a change too, or rejects if `signal` aborts: the list that a client reads next may
   * come from any of them. Absent: there are no others.
   */
  settled?: (signal: AbortSignal) => Promise<void>
}

/** The items of each server; the same arrays as long as nothing changed. */
type Items = readonly (readonly Listed[])[]
type Kind = 'tools' | 'resources' | 'prompts'
type State = Partial<Record<Kind, Items>>

const KINDS: readonly Kind[] = ['tools', 'resources', 'prompts']
const MAX_CLIENTS = 10_000
const MAX_LISTENERS = 4_096

export function createListChanges({ watch, restrict, once, settled }: ListChangesOptions): ListChanges {
  /** What clients of the direct profile have seen. Not the catalog itself, which would keep its vectors in memory. */
  const known = new BoundedMap<{ servers: Catalog['servers']; tools: Items }>(MAX_CLIENTS)
  /** Open streams of clients of the direct profile, which are notified only there. */
  const streaming = new Map<string, number>()
  let listeners = 0

  /** The lists of a route; a kind is absent if its list never changes. */
  function stateOf(catalog: Catalog, route: McpRoute): State {
    return once(catalog, `state of ${routeName(route)}`, () =>
      route.kind === 'server' ? serverState(once, catalog, route.server) : gatewayState(once, catalog, route),
    )
  }

  async function follow({ route, identity, client, signal, tell }: Listening): Promise<void> {
    const kept = client !== undefined && isDirect(route) ? client : undefined
    let before: State | undefined = kept === undefined ? undefined : { tools: known.get(kept)?.tools }
    for await (const whole of watch(signal)) {
      const found = restrict(whole, identity)
      const catalog = found instanceof Promise ? await found : found
      const state = stateOf(catalog, route)
      const changed = KINDS.filter(kind => isChanged(before?.[kind], state[kind]))
      if (changed.length > 0) await settled?.(signal).catch(() => {})
      if (signal.aborted) return
      for (const kind of changed) tell({ method: `notifications/${kind}/list_changed` })
      before = state
      if (kept !== undefined) known.set(kept, { servers: catalog.servers, tools: state.tools ?? [] })
    }
  }

  return {
    notice({ method, route, caller: { client, notify } }, catalog) {
      if (client === undefined || streaming.has(client)) return
      const before = known.get(client)
      if (method !== 'tools/list' && (!before || !notify || before.servers === catalog.servers)) return
      const { tools = [] } = stateOf(catalog, route)
      if (method !== 'tools/list' && isChanged(before?.tools, tools)) notify?.(LIST_CHANGED)
      known.set(client, { servers: catalog.servers, tools })
    },
    async listen(listening) {
      if (listeners >= MAX_LISTENERS) return
      const { client, route } = listening
      listeners++
      if (client !== undefined && isDirect(route)) streaming.set(client, (streaming.get(client) ?? 0) + 1)
      try {
        await follow(listening)
      } finally {
        listeners--
        const left = client === undefined ? 0 : (streaming.get(client) ?? 1) - 1
        if (client !== undefined && left > 0) streaming.set(client, left)
        else if (client !== undefined) streaming.delete(client)
      }
    },
    forget: client => known.delete(client),
  }
}

/** The lists of a gateway. Meta-tools never change; `activate` itself notifies the client of changes that it makes. */
function gatewayState(once: Once, catalog: Catalog, route: McpRoute): State {
  const items = gatewayLists.bind(undefined, once, catalog)
  return {
    tools: isDirect(route) ? nonEmpty(items('tools')) : undefined,
    resources: [...nonEmpty(items('resources')), ...nonEmpty(items('resourceTemplates'))],
    prompts: nonEmpty(items('prompts')),
  }
}

function serverState(once: Once, catalog: Catalog, server: string): State {
  const items = serverList.bind(undefined, once, catalog, server)
  return {
    tools: [items('tools')],
    resources: [items('resources'), items('resourceTemplates')],
    prompts: [items('prompts')],
  }
}

function isChanged(before: Items | undefined, now: Items | undefined): boolean {
  if (!before || !now || before === now) return false
  return (
    before.length !== now.length || before.some((items, at) => !areSame(items, now[at] as readonly Listed[]))
  )
}

/** Without servers whose list is empty. */
function nonEmpty(items: Items): Items {
  return items.filter(({ length }) => length > 0)
}

/** Whether two lists have the same items, by their JSON. */
function areSame(a: readonly Listed[], b: readonly Listed[]): boolean {
  return a === b || (a.length === b.length && a.every(({ text }, at) => text === b[at]?.text))
}
