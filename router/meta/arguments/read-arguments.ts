/** Reads the arguments of a tool out of a call of a meta-tool, in the forms in which models write them. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'

export type ReadArguments = { args: JsonObject; notes: string[] }

const AS_TEXT = 'Note: the arguments were a text of JSON; an object was meant.'
const BESIDE =
  'Note: the arguments stood beside the name of the tool; they belong into an object of their own.'

/** `given`: what stands where the arguments belong; `beside`: what stands next to it. Undefined where it is no object. */
export function readArguments(given: JsonValue | undefined, beside: JsonObject): ReadArguments | undefined {
  const isNothing = given === undefined || given === null || given === ''
  const args = isNothing ? {} : asObject(given)
  if (!args) return undefined
  if (Object.keys(args).length === 0 && Object.keys(beside).length > 0)
    return { args: beside, notes: [BESIDE] }
  return { args, notes: typeof given === 'string' && !isNothing ? [AS_TEXT] : [] }
}

/** An object, also one in a text, and in a text of a text. */
export function asObject(value: JsonValue | undefined): JsonObject | undefined {
  const once = parsed(value)
  const twice = parsed(once)
  return isObject(twice) ? twice : undefined
}

function parsed(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}
