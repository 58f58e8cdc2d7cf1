/** Merges what a manifest says of a pod or a Service into what we make: maps merge, lists append by name, scalars replace. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'

/** What tells the entries of a list apart, where it is not their name. */
const KEYS: Readonly<Record<string, string>> = {
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
  hostAliases: 'ip',
  topologySpreadConstraints: 'topologyKey',
}

/** Lists whose entries are one thing or another, so that a mixture of two would be neither. */
const WHOLE: readonly string[] = ['env', 'volumes']

/**
 * A new value; neither argument is changed. Entries of lists of objects merge with the one of the same name (those of env and volumes
 * replace it) and are appended otherwise; a list of anything else is replaced as a whole. Where the two are of different kinds, the manifest's wins.
 */
export function merge<T>(ours: T, theirs: unknown): T {
  return mergeValue(ours as JsonValue, theirs as JsonValue, '') as T
}

function mergeValue(
  ours: JsonValue | undefined,
  theirs: JsonValue | undefined,
  field: string,
): JsonValue | undefined {
  if (theirs === undefined) return ours
  if (isObject(ours) && isObject(theirs)) return mergeMaps(ours, theirs)
  if (Array.isArray(ours) && Array.isArray(theirs)) return mergeLists(ours, theirs, field)
  return theirs
}

function mergeMaps(ours: JsonObject, theirs: JsonObject): JsonObject {
  const merged: JsonObject = { ...ours }
  for (const [key, value] of Object.entries(theirs)) {
    merged[key] = mergeValue(Object.hasOwn(ours, key) ? ours[key] : undefined, value, key)
  }
  return merged
}

function mergeLists(ours: JsonValue[], theirs: JsonValue[], field: string): JsonValue[] {
  if (!theirs.every(isObject) || !ours.every(isObject)) return theirs
  const key = KEYS[field] ?? 'name'
  const merged: JsonObject[] = [...ours]
  for (const entry of theirs) {
    const at = merged.findIndex(other => other[key] !== undefined && other[key] === entry[key])
    if (at < 0) merged.push(entry)
    else merged[at] = WHOLE.includes(field) ? entry : mergeMaps(merged[at] ?? {}, entry)
  }
  return merged
}
