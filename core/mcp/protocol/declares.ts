/** The change notifications that a server declares. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../json.ts'

/** Whether a server declares a member. `capability` is the value of `tools`, `resources` or `prompts` in the server's capabilities. */
export function declares(capability: JsonValue | undefined, member: 'listChanged' | 'subscribe'): boolean {
  return isObject(capability) && capability[member] === true
}

/** The lists for which the server sends `list_changed`. */
export function changingLists(capabilities: JsonObject | undefined): string[] {
  return ['tools', 'prompts', 'resources'].filter(list => declares(capabilities?.[list], 'listChanged'))
}

/** The filter of `subscriptions/listen` for all these lists; empty if there are none. */
export function changesFilter(capabilities: JsonObject): JsonObject {
  return Object.fromEntries(changingLists(capabilities).map(list => [`${list}ListChanged`, true]))
}
