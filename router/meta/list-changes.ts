/** Tells the clients of the direct profile that their tools changed: on a stream where they listen, else ahead of their next answer. */
import type { Clock, Timer } from '../../core/async.ts'
import type { Listening, McpRequest } from '../../core/mcp/front/handler.ts'
import { type Catalog, isShown } from '../catalog/catalog.ts'
import type { ToolRoute } from '../catalog/server-part.ts'

export const LIST_CHANGED = { method: 'notifications/tools/list_changed' }

export type ListChanges = {
  /** Takes note of a request: what it lists is known to its client, and what changed since then is told. */
  notice(request: McpRequest, catalog: Catalog): void
  /** Tells until `signal` aborts. */
  listen(listening: Listening): Promise<void>
  forget(client: string): void
}

export type ListChangesOptions = {
  /** Yields the newest catalog at once and whenever there is one; ends when `signal` aborts. */
  watch: (signal: AbortSignal) => AsyncIterable<Catalog>
  clock: Clock
}

/** Tools of each server that is shown: the same arrays as long as nothing changed. */
type Lists = readonly (readonly ToolRoute[])[]

const MAX_CLIENTS = 10_000
const MAX_LISTENERS = 256
/** So often a sign of life, so that nothing on the way takes a silent stream for dead. */
const HEARTBEAT_MS = 15_000

export function createListChanges({ watch, clock }: ListChangesOptions): ListChanges {
  const known = new Map<string, { servers: Catalog['servers']; lists: Lists }>()
  let listeners = 0

  function remember(client: string, catalog: Catalog, lists = listsOf(catalog)): void {
    known.delete(client)
    // Never the catalog: its vectors would live on with it.
    known.set(client, { servers: catalog.servers, lists })
    if (known.size > MAX_CLIENTS) known.delete(known.keys().next().value as string)
  }

  return {
    notice({ client, method, notify }, catalog) {
      if (client === undefined) return
      if (method === 'tools/list') return remember(client, catalog)
      const before = known.get(client)
      if (!before || !notify || before.servers === catalog.servers) return
      const lists = listsOf(catalog)
      if (!areSame(before.lists, lists)) notify(LIST_CHANGED)
      remember(client, catalog, lists)
    },
    async listen({ signal, tell, beat }) {
      if (listeners >= MAX_LISTENERS) return
      listeners++
      const heartbeat = beatAlways(beat, clock)
      try {
        let before: Lists | undefined
        for await (const catalog of watch(signal)) {
          const lists = listsOf(catalog)
          if (before && !areSame(before, lists)) tell(LIST_CHANGED)
          before = lists
        }
      } finally {
        heartbeat.cancel()
        listeners--
      }
    },
    forget: client => void known.delete(client),
  }
}

function listsOf(catalog: Catalog): Lists {
  return catalog.parts.filter(part => isShown(catalog, part.server)).map(part => part.tools)
}

function areSame(a: Lists, b: Lists): boolean {
  return a.length === b.length && a.every((tools, at) => tools === b[at])
}

function beatAlways(beat: () => void, clock: Clock): Timer {
  let timer: Timer
  const again = (): void => {
    timer = clock.after(HEARTBEAT_MS, () => {
      beat()
      again()
    })
  }
  again()
  return { cancel: () => timer.cancel() }
}
