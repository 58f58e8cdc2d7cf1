/** What a server declares that it tells its clients of. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../json.ts'

/** `capability` is what stands under `tools`, `resources` or `prompts`. */
export function declares(capability: JsonValue | undefined, member: 'listChanged' | 'subscribe'): boolean {
  return isObject(capability) && capability[member] === true
}

/** The lists of whose changes it tells. */
export function changingLists(capabilities: JsonObject | undefined): string[] {
  return ['tools', 'prompts', 'resources'].filter(list => declares(capabilities?.[list], 'listChanged'))
}

/** What subscriptions/listen is to ask for to hear of them; empty where it tells of none. */
export function changesFilter(capabilities: JsonObject): JsonObject {
  return Object.fromEntries(changingLists(capabilities).map(list => [`${list}ListChanged`, true]))
}
