/** Reads the reference of a completion request: a prompt or a resource, never both, since the server could use the one that was not checked. Pure. */
import { isObject, type JsonValue } from '../../../core/json.ts'

export type Completed =
  | { type: 'ref/prompt'; name: string; uri?: undefined }
  | { type: 'ref/resource'; uri: string; name?: undefined }

/** The reference with only the fields of its type; undefined if it names neither. */
export function readCompleted(ref: JsonValue | undefined): Completed | undefined {
  if (!isObject(ref)) return undefined
  const { type, name, uri } = ref
  if (type === 'ref/prompt' && typeof name === 'string') return { type, name }
  if (type === 'ref/resource' && typeof uri === 'string') return { type, uri }
  return undefined
}
