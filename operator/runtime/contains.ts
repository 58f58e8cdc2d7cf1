/** Whether an object in the cluster still is as we want it: whatever the API server added to it does not count. Pure. */
import { isObject } from '../../core/json.ts'

/** True where every field of `desired` is in `observed` with the same value; lists must be equally long, an empty one may be absent. */
export function contains(observed: unknown, desired: unknown): boolean {
  if (desired === undefined || desired === null) return true
  if (Array.isArray(desired)) {
    const items: unknown = observed ?? []
    if (!Array.isArray(items) || items.length !== desired.length) return false
    return desired.every((item, index) => contains(items[index], item))
  }
  if (!isObject(desired)) return observed === desired
  return isObject(observed) && Object.entries(desired).every(([key, value]) => contains(observed[key], value))
}
