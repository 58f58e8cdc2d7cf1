/** Looks at the state of the gateway for all open pages at the same time, so that the servers of one catalog are read once for all of them. */
import type { Clock, Timer } from '../../core/async.ts'
import type { ConsoleServer } from '../../core/console/shapes.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { type StateFacts, serversOf } from './state.ts'

/** How often the state is compared with what pages have. */
export const LOOK_MS = 500

/** What there is to see at one moment. `serversOf`: the servers of a catalog and their JSON, by name. */
export type Sight = {
  facts: StateFacts
  serversOf(catalog: Catalog): ReadonlyMap<string, { server: ConsoleServer; text: string }>
}

/** Calls `look` at once and then every LOOK_MS. Returns the function that stops it. */
export type Looks = (look: (sight: Sight) => void) => () => void

export function createLooks(clock: Clock, facts: () => StateFacts): Looks {
  const pages = new Set<(sight: Sight) => void>()
  let stop: (() => void) | undefined
  const turn = () => {
    const sight = sightOf(facts())
    for (const look of [...pages]) look(sight)
  }
  return look => {
    look(sightOf(facts()))
    pages.add(look)
    stop ??= repeat(clock, LOOK_MS, turn)
    return () => {
      if (!pages.delete(look) || pages.size > 0) return
      stop?.()
      stop = undefined
    }
  }
}

function sightOf(facts: StateFacts): Sight {
  const known = new Map<Catalog, ReturnType<Sight['serversOf']>>()
  return {
    facts,
    serversOf(catalog) {
      const servers =
        known.get(catalog) ??
        new Map(
          serversOf(catalog, facts).map(server => [server.name, { server, text: JSON.stringify(server) }]),
        )
      known.set(catalog, servers)
      return servers
    },
  }
}

/** Calls a function every `ms`. Returns the function that stops it. */
export function repeat(clock: Clock, ms: number, run: () => void): () => void {
  let timer: Timer
  const turn = () => {
    timer = clock.after(ms, turn)
    run()
  }
  timer = clock.after(ms, turn)
  return () => timer.cancel()
}
