/** The tools that each client of the registry profile has activated, for the lifetime of its session. */
import { BoundedMap } from '../../../../core/bounded-map.ts'

export type ActivatedSets = {
  /** Tool paths, least recently used first; empty for a client without a session. */
  of(client: string | undefined): readonly string[]
  /** Replaces the client's set. `paths`: least recently used first. */
  keep(client: string, paths: readonly string[]): void
  /** Marks a tool as the most recently used, if it is active. */
  touch(client: string | undefined, path: string): void
  forget(client: string): void
}

/** Sessions do not always end: above this number the least recently used one is forgotten. */
const MAX_CLIENTS = 10_000
const NONE: readonly string[] = []

export function createActivatedSets(): ActivatedSets {
  const sets = new BoundedMap<readonly string[]>(MAX_CLIENTS)

  function keep(client: string, paths: readonly string[]): void {
    if (paths.length > 0) sets.set(client, paths)
    else sets.delete(client)
  }

  return {
    of: client => (client === undefined ? NONE : (sets.get(client) ?? NONE)),
    keep,
    touch(client, path) {
      const paths = client === undefined ? undefined : sets.get(client)
      if (client === undefined || !paths?.includes(path)) return
      keep(client, [...paths.filter(other => other !== path), path])
    },
    forget: client => sets.delete(client),
  }
}
