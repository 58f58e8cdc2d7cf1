/** Which sets of slices stand in the cluster, told by the metadata of their ConfigMaps. */
import type { SliceSet } from '../../core/catalog/feed.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { ANNOTATION } from '../plan/names.ts'
import { controllerOf } from '../runtime/owner-reference.ts'

type Sets = {
  /** By name of the ConfigMap. */
  parts: Map<string, SliceSet>
  whole: SliceSet | undefined
}

/** What a slice is called, after the name of its server. */
const SUFFIX = /^-catalog-\d+$/

/** The key of the server whose slice a ConfigMap is; undefined for any other. Labels tell nothing: anybody may write them. */
export function serverOfSlice(object: KubeObject): string | undefined {
  const { kind, name: server = '' } = controllerOf(object) ?? {}
  const { name, namespace } = object.metadata
  const isSlice = kind === 'McpServer' && name.startsWith(server) && SUFFIX.test(name.slice(server.length))
  return isSlice ? `${namespace}/${server}` : undefined
}

/** Whether a slice still says of which set it is. */
export function namesItsSet(slice: KubeObject): boolean {
  return setOf(slice) !== undefined
}

/** While a new set is being written the last whole one is still named: readers keep what they have until the new one is whole. */
export class SliceSets {
  readonly #servers = new Map<string, Sets>()

  /** Takes a change of a ConfigMap; returns the key of the server whose set is another one now. */
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
    const whole = wholeSet(sets.parts) ?? (sets.parts.size === 0 ? undefined : sets.whole)
    const changed = whole?.digest !== sets.whole?.digest || whole?.parts !== sets.whole?.parts
    sets.whole = whole
    return changed ? key : undefined
  }

  /** The newest whole set of a server. */
  whole(server: string): SliceSet | undefined {
    return this.#servers.get(server)?.whole
  }

  /** Whether all slices of the newest set stand; `whole` may be of one before. */
  isWhole(server: string): boolean {
    const parts = this.#servers.get(server)?.parts
    return parts !== undefined && wholeSet(parts) !== undefined
  }

  /** Whether slices stand, and no whole set was ever seen. */
  isTorn(server: string): boolean {
    const sets = this.#servers.get(server)
    return sets !== undefined && sets.whole === undefined
  }
}

/** Parts of an older, longer set may stand beside it until they are deleted. */
function wholeSet(parts: ReadonlyMap<string, SliceSet>): SliceSet | undefined {
  const sets = [...parts.entries()]
  const first = sets.find(([name]) => name.endsWith('-0'))?.[1]
  if (!first) return undefined
  const same = sets.filter(([, set]) => set.digest === first.digest && set.parts === first.parts)
  return same.length === first.parts ? first : undefined
}

function setOf({ metadata }: KubeObject): SliceSet | undefined {
  const digest = metadata.annotations?.[ANNOTATION.catalogDigest]
  const parts = Number(metadata.annotations?.[ANNOTATION.catalogParts])
  return digest && Number.isInteger(parts) && parts > 0 ? { digest, parts } : undefined
}
