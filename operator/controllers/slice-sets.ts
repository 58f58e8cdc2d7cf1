/** Tracks which sets of slices are complete in the cluster, from the metadata of their ConfigMaps. */
import type { SliceSet } from '../../core/catalog/feed.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { ANNOTATION } from '../plan/names.ts'
import { controllerOf } from '../runtime/owner-reference.ts'

type Sets = {
  /** By ConfigMap name. */
  parts: Map<string, SliceSet>
  whole: SliceSet | undefined
}

/** What follows the server's name in the name of a slice. */
const SUFFIX = /^-catalog-\d+$/

/** The key of the server that a slice belongs to; undefined for other ConfigMaps. Labels are not trusted: anybody may write them. */
export function serverOfSlice(object: KubeObject): string | undefined {
  const { kind, name: server = '' } = controllerOf(object) ?? {}
  const { name, namespace } = object.metadata
  const isSlice = kind === 'McpServer' && name.startsWith(server) && SUFFIX.test(name.slice(server.length))
  return isSlice ? `${namespace}/${server}` : undefined
}

/** Whether the annotations of a slice name its set. */
export function namesItsSet(slice: KubeObject): boolean {
  return setOf(slice) !== undefined
}

/** While a new set is being written, `whole` stays the last complete one: readers keep it until the new one is complete. */
export class SliceSets {
  readonly #servers = new Map<string, Sets>()

  /** Processes a change of a ConfigMap; returns the key of the server whose complete set changed. */
  take(before: KubeObject | undefined, now: KubeObject | undefined): string | undefined {
    const to = now && serverOfSlice(now)
    const key = to ?? (before && serverOfSlice(before))
    if (key === undefined) return undefined
    const sets = this.#servers.get(key) ?? { parts: new Map(), whole: undefined }
    const set = now && to === key ? setOf(now) : undefined
    if (now && set) sets.parts.set(now.metadata.name, set)
    else sets.parts.delete((now ?? before)?.metadata.name ?? '')
    if (sets.parts.size === 0) this.#servers.delete(key)
    else this.#servers.set(key, sets)
    const whole = completeSet(sets.parts) ?? (sets.parts.size === 0 ? undefined : sets.whole)
    const changed = whole?.digest !== sets.whole?.digest || whole?.parts !== sets.whole?.parts
    sets.whole = whole
    return changed ? key : undefined
  }

  /** The newest complete set of a server. */
  whole(server: string): SliceSet | undefined {
    return this.#servers.get(server)?.whole
  }

  /** Whether all slices of the newest set exist; if not, `whole` is an earlier set. */
  isWhole(server: string): boolean {
    const parts = this.#servers.get(server)?.parts
    return parts !== undefined && completeSet(parts) !== undefined
  }

  /** Whether slices exist, but no complete set was ever seen. */
  isTorn(server: string): boolean {
    const sets = this.#servers.get(server)
    return sets !== undefined && sets.whole === undefined
  }
}

/** The complete set, if all its parts exist. Ignores parts of an older, longer set, which exist until they are deleted. */
function completeSet(parts: ReadonlyMap<string, SliceSet>): SliceSet | undefined {
  const sets = [...parts.entries()]
  const first = sets.find(([name]) => name.endsWith('-0'))?.[1]
  if (!first) return undefined
  const same = sets.filter(([, set]) => set.digest === first.digest && set.parts === first.parts)
  return same.length === first.parts ? first : undefined
}

/** The set that the annotations of a slice name. */
function setOf({ metadata }: KubeObject): SliceSet | undefined {
  const digest = metadata.annotations?.[ANNOTATION.catalogDigest]
  const parts = Number(metadata.annotations?.[ANNOTATION.catalogParts])
  return digest && Number.isInteger(parts) && parts > 0 ? { digest, parts } : undefined
}
