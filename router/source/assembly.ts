/** Joins a config with the catalogs read for it and publishes snapshots; waits a short time so that they are complete if possible. */
import type { Clock, Timer } from '../../core/async.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import type { LastGood } from './last-good.ts'
import { createNewest } from './newest.ts'
import type { Snapshot, Source } from './source.ts'

/** A new replica serves nothing for up to this time rather than an incomplete catalog. */
const FIRST_WAIT_MS = 10_000
/** Later configs wait at most this long for what belongs to them; what is late follows in another snapshot. */
const WAIT_MS = 250

export type Assembly = Source & {
  /** A new config arrived; reading what it needs has already begun. */
  adopt(generation: number, config: RouterConfig): void
  /** Something was read, or failed. */
  progress(): void
  close(): void
}

export type AssemblyOptions = {
  catalogs: Pick<LastGood<ServerCatalog>, 'get' | 'missing' | 'trying'>
  /** What else to wait for, such as Secrets. */
  others?: Pick<LastGood<unknown>, 'missing' | 'trying'>
  clock: Clock
}

export function createAssembly({ catalogs, others, clock }: AssemblyOptions): Assembly {
  const newest = createNewest<Snapshot>()
  const kept = others ? [catalogs, others] : [catalogs]
  let adopted: { generation: number; config: RouterConfig } | undefined
  let timer: Timer | undefined

  /** The first snapshot waits until everything was read; later ones only while something is tried for the first time. */
  const isComplete = () =>
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
    if (isComplete()) publish()
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

/** Adds the default to a feed written by an older version, which has no `search`. */
function withSearch(config: RouterConfig): RouterConfig {
  return { ...config, search: config.search ?? { semantic: 'auto' } }
}
