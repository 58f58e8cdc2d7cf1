/** Merges a manifest's pod or Service into the generated one: maps merge, lists merge by name, scalars replace. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { ownValue } from '../../core/own-value.ts'

/** The fields by which entries of these lists are matched, as in the API of Kubernetes; entries of other lists are matched by `name`. */
const KEY_FIELDS: Readonly<Record<string, readonly string[]>> = {
  volumeMounts: ['mountPath'],
  volumeDevices: ['devicePath'],
  hostAliases: ['ip'],
  topologySpreadConstraints: ['topologyKey', 'whenUnsatisfiable'],
}
const NAME = ['name']

/** Lists whose entries are unions, such as a volume's source. Two entries cannot be merged, since the result would be invalid. */
const REPLACED_ENTRIES: readonly string[] = ['env', 'volumes']

/**
 * Returns a new value; neither argument is changed. Entries of object lists merge with the entry of the same key (in env and volumes they
 * replace it) or are appended; other lists are replaced as a whole. If the types of the two values differ, the manifest's wins.
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
  const keys = ownValue(KEY_FIELDS, field) ?? NAME
  const merged: JsonObject[] = [...ours]
  for (const entry of theirs) {
    const at = merged.findIndex(other =>
      keys.every(key => other[key] !== undefined && other[key] === entry[key]),
    )
    if (at < 0) merged.push(entry)
    else merged[at] = REPLACED_ENTRIES.includes(field) ? entry : mergeMaps(merged[at] ?? {}, entry)
  }
  return merged
}
