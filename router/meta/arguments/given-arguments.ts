/**
 * The value given as a tool's arguments, with its JSON text, which is sent on unchanged: no number loses digits, and nothing is
 * serialized again. Pure.
 */
import { addRounded } from '../../../core/exact-json.ts'
import { isObject, type JsonObject, type JsonValue, tryParseJson } from '../../../core/json.ts'
import { sliceJson } from '../../../core/json-slice.ts'
import type { McpRequest } from '../../../core/mcp/server/handler.ts'
import { hasRepeatedNames } from '../../../core/repeated-names.ts'
import { quote } from '../wording/sentences.ts'

export type Given<Value extends JsonValue | undefined = JsonValue | undefined> = {
  readonly value: Value
  /** The text that the value was parsed from; undefined if there is none, or if the value was changed since. */
  readonly text: string | undefined
  /** Whether the value is known to have lost no digits, though it has no text any more. */
  readonly isExact?: boolean
}

export type GivenArguments = Given<JsonObject>

/** The text at `path` (whose first name is `params`) of a request; undefined if the text of the request is not available. */
export function textAt({ text }: McpRequest, path: readonly string[]): string | undefined {
  return text === undefined ? undefined : sliceJson(text, path)
}

/** Where a request for a tool has its arguments. */
export const ARGUMENTS_PATH: readonly string[] = ['params', 'arguments']

/** Reads an object, its JSON text, and that text as a JSON string; undefined for anything else. Keeps the text of the object. */
export function objectIn({ value, text }: Given): GivenArguments | undefined {
  if (isObject(value)) return { value, text }
  const once = parsed(value)
  if (isObject(once)) return { value: once, text: value as string }
  const twice = parsed(once)
  return isObject(twice) ? { value: twice, text: once as string } : undefined
}

function parsed(value: JsonValue | undefined): JsonValue | undefined {
  return typeof value === 'string' ? tryParseJson(value) : undefined
}

/** The path of the first number in arguments made from `given` that lost digits, or may have; undefined if there is none. */
export function roundedIn(args: JsonObject, given: Given): string | undefined {
  let rounded: ReadonlySet<number> | undefined
  const left: { path: string; value: JsonValue | undefined }[] = [{ path: '', value: args }]
  for (let next = left.pop(); next; next = left.pop()) {
    const { path, value } = next
    if (isUnsafe(value)) {
      rounded ??= roundedOf(given)
      if (rounded.has(value)) return path
    }
    if (typeof value !== 'object' || value === null) continue
    for (const [name, inner] of Object.entries(value))
      left.push({ path: path === '' ? name : `${path}.${name}`, value: inner })
  }
  return undefined
}

/** The numbers that lost digits when they were parsed; without a text, those that may have. */
function roundedOf({ value, text, isExact }: Given): ReadonlySet<number> {
  const rounded = new Set<number>()
  if (text !== undefined) {
    addRounded(text, rounded)
    return rounded
  }
  const left: (JsonValue | undefined)[] = [value]
  while (left.length > 0) {
    const next = left.pop()
    if (typeof next === 'string') addRounded(next, rounded)
    else if (!isExact && isUnsafe(next)) rounded.add(next)
    else if (typeof next === 'object' && next !== null)
      for (const inner of Object.values(next)) left.push(inner)
  }
  return rounded
}

/** Why arguments are not sent whose text has a name twice in an object: what was checked is not what a server may read. */
export function repeatedRefusal({ value, text }: Given): string | undefined {
  return text !== undefined && hasRepeatedNames(text, value) ? REPEATED : undefined
}

const REPEATED =
  'An object in the arguments has the same name more than once, so the tool was not called. Give each name once.'

function isUnsafe(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER
}

/** Why arguments are not sent that are no longer the text that the caller wrote, and in which a number may have lost digits. */
export function roundedRefusal(path: string, advice: string): string {
  return `Argument ${quote(path)} is a whole number beyond ${Number.MAX_SAFE_INTEGER}, which loses digits if arguments are corrected, so the tool was not called. ${advice}`
}
