/** Builds catalogs from new snapshots and new vectors and swaps them in, one at a time, yielding to the event loop while building. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Log } from '../core/log.ts'
import { buildCatalog, type Catalog } from './catalog/catalog.ts'
import { withScripts } from './catalog/script-server.ts'
import { runSliced } from './catalog/search/build.ts'
import type { RouterMetrics } from './metrics.ts'
import type { Semantic } from './semantic/semantic.ts'
import type { Newest } from './source/newest.ts'
import type { Snapshot, Source } from './source/source.ts'

/** Building a catalog blocks the event loop for at most this long at a time. */
const SLICE_MS = 5

export type SwapsOptions = {
  served: Newest<Catalog>
  semantic: Pick<Semantic, 'adopt' | 'equip'>
  /** Called after the catalog of a new snapshot was swapped in. */
  onSwapped: (catalog: Catalog) => void
  metrics: Pick<RouterMetrics, 'reloaded' | 'reloadFailed'>
  log: Log
}

export type Swaps = {
  /** Builds every snapshot and swaps its catalog in; if that fails, the last good catalog stays. Never rejects. */
  follow(source: Source, signal: AbortSignal): Promise<void>
  /** Adds new vectors to the catalog that is served. */
  refresh(): void
  /** Resolves once the first catalog is served or could not be built. */
  first: Promise<void>
}

export function createSwaps(options: SwapsOptions): Swaps {
  const { served, semantic, metrics, log } = options
  let last: Promise<void> = Promise.resolve()
  const first = Promise.withResolvers<void>()
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    last = last.then(work)
    return last
  }

  async function take(snapshot: Snapshot): Promise<void> {
    const { generation } = snapshot
    const begun = performance.now()
    try {
      const previous = served.current()
      semantic.adopt(snapshot.config.search)
      const next = await runWithoutBlocking(buildAndEquip(snapshot, previous))
      swapIn(next, options)
      const durationMs = performance.now() - begun
      metrics.reloaded(next, durationMs)
      const { servers, tools } = next.totals
      // Servers fall asleep and wake all day: only a change of what they offer is logged at info.
      const level = next.index === previous?.index ? 'debug' : 'info'
      log[level]({ generation, servers, tools, durationMs: Math.round(durationMs) }, 'catalog swapped')
    } catch (error) {
      metrics.reloadFailed()
      log.error({ err: error, generation }, 'catalog could not be built; the last good one stays')
    }
  }

  function* buildAndEquip(snapshot: Snapshot, previous?: Catalog): Generator<void, Catalog> {
    return yield* semantic.equip(yield* buildCatalog(withScripts(snapshot), previous))
  }

  async function takeVectors(): Promise<void> {
    const now = served.current()
    if (!now) return
    try {
      served.publish(await runWithoutBlocking(semantic.equip(now)))
    } catch (error) {
      log.error({ err: error }, 'new vectors could not be added; the catalog stays as it is')
    }
  }

  return {
    async follow(source, signal) {
      try {
        for await (const snapshot of source.watch(signal)) {
          await inTurn(() => take(snapshot))
          first.resolve()
        }
      } catch (error) {
        log.error({ err: error }, 'source failed; the last good catalog stays')
      } finally {
        first.resolve()
      }
    },
    refresh: () => void inTurn(takeVectors),
    first: first.promise,
  }
}

/** Once published, the catalog is served, whatever fails afterwards. */
function swapIn(next: Catalog, { served, onSwapped, metrics, log }: SwapsOptions): void {
  served.publish(next)
  try {
    onSwapped(next)
  } catch (error) {
    metrics.reloadFailed()
    log.error(
      { err: error, generation: next.generation },
      'catalog swapped, but the router could not adopt all of it',
    )
  }
}

/** Runs a generator to its end without blocking the event loop for long. */
export function runWithoutBlocking<T>(steps: Generator<void, T>): Promise<T> {
  let sliceBegun = performance.now()
  return runSliced(steps, () => {
    if (performance.now() - sliceBegun < SLICE_MS) return undefined
    return nextTurn().then(() => {
      sliceBegun = performance.now()
    })
  })
}
