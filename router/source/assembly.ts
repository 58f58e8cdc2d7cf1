/** Joins a config with the catalogs that are read for it, and publishes snapshots: whole ones where a short wait makes them so. */
import type { Clock, Timer } from '../../core/async.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import type { LastGood } from './last-good.ts'
import { createNewest } from './newest.ts'
import type { Snapshot, Source } from './source.ts'

/** A fresh replica serves nothing rather than half a catalog, for so long. */
const FIRST_WAIT_MS = 10_000
/** Later a config is not held up longer than this by what belongs to it; the rest follows when it comes. */
const WAIT_MS = 250

export type Assembly = Source & {
  /** A config came; what it wants is being read already. */
  adopt(generation: number, config: RouterConfig): void
  /** Something was read, or failed. */
  progress(): void
  close(): void
}

export type AssemblyOptions = {
  catalogs: Pick<LastGood<ServerCatalog>, 'get' | 'missing' | 'trying'>
  /** What else is waited for, such as Secrets. */
  others?: Pick<LastGood<unknown>, 'missing' | 'trying'>
  clock: Clock
}

export function createAssembly({ catalogs, others, clock }: AssemblyOptions): Assembly {
  const newest = createNewest<Snapshot>()
  const kept = others ? [catalogs, others] : [catalogs]
  let adopted: { generation: number; config: RouterConfig } | undefined
  let timer: Timer | undefined

  const isWhole = () =>
    newest.current() ? !kept.some(one => one.trying()) : kept.every(one => one.missing().length === 0)

  function publish() {
    timer?.cancel()
    timer = undefined
    if (!adopted) return
    const { generation, config } = adopted
    const known = config.servers.map(({ name }) => [name, catalogs.get(name)] as const)
    const entries = known.filter((entry): entry is [string, ServerCatalog] => entry[1] !== undefined)
    newest.publish({ generation, config, catalogs: new Map(entries) })
  }

  function progress() {
    if (!adopted) return
    if (isWhole()) publish()
    else timer ??= clock.after(newest.current() ? WAIT_MS : FIRST_WAIT_MS, publish)
  }

  return {
    adopt(generation, config) {
      adopted = { generation: Math.max(generation, adopted?.generation ?? 0), config: withSearch(config) }
      progress()
    },
    progress,
    watch: newest.watch,
    close: () => timer?.cancel(),
  }
}

/** Who was there before us says nothing of the search. */
function withSearch(config: RouterConfig): RouterConfig {
  return { ...config, search: config.search ?? { semantic: 'auto' } }
}
