/** What a completion is asked for: a prompt or a resource, never both, since a server could take the one that nobody checked. Pure. */
import { isObject, type JsonValue } from '../../../core/json.ts'

export type Completed =
  | { type: 'ref/prompt'; name: string; uri?: undefined }
  | { type: 'ref/resource'; uri: string; name?: undefined }

/** The reference with nothing but what its type speaks of; undefined if it names neither. */
export function readCompleted(ref: JsonValue | undefined): Completed | undefined {
  if (!isObject(ref)) return undefined
  const { type, name, uri } = ref
  if (type === 'ref/prompt' && typeof name === 'string') return { type, name }
  if (type === 'ref/resource' && typeof uri === 'string') return { type, uri }
  return undefined
}
