/** Whether an observed object has all fields of the desired one; other fields are ignored. Pure. */
import { isObject } from '../../core/json.ts'

/** Whether every field of `desired` has the same value in `observed`. Lists must have the same length; an empty list may be absent. */
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
