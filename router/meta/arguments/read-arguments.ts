/** Reads a tool's arguments from a call of a meta-tool, in the forms that models write. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import type { Given, GivenArguments } from './given-arguments.ts'

export type ReadArguments = { args: GivenArguments; notes: string[] }

const AS_TEXT = 'Note: the arguments were a text of JSON; an object was meant.'
const BESIDE =
  'Note: the arguments stood beside the name of the tool; they belong into an object of their own.'

/** Fields that name the tool and its server, which models repeat beside the arguments. */
export const REPEATED: ReadonlySet<string> = new Set([
  'tool_path',
  'tool_name',
  'toolName',
  'tool',
  'name',
  'server_name',
  'serverName',
  'serverId',
  'server',
])

/**
 * `given`: the value of the field for arguments; `beside`: the fields next to it; `properties`: those of the tool's schema.
 * Undefined if `given` is not an object.
 */
export function readArguments(
  { value: given, text }: Given,
  beside: JsonObject,
  properties: JsonValue | undefined,
): ReadArguments | undefined {
  const isNothing = given === undefined || given === null || given === ''
  const args = isNothing ? {} : asObject(given)
  if (!args) return undefined
  const notes = typeof given === 'string' && !isNothing ? [AS_TEXT] : []
  const asGiven = { value: args, text: args === given ? text : undefined }
  if (isEmpty(beside)) return { args: asGiven, notes }
  const isKnown = (name: string) => isObject(properties) && Object.hasOwn(properties, name)
  const isMeant = (name: string) =>
    !Object.hasOwn(args, name) && (isKnown(name) || (isNothing && !REPEATED.has(name)))
  const meant = Object.entries(beside).filter(([name]) => isMeant(name))
  if (meant.length === 0) return { args: asGiven, notes }
  const whole = { value: { ...args, ...Object.fromEntries(meant) }, text: undefined }
  return { args: whole, notes: [...notes, BESIDE] }
}

function isEmpty(object: JsonObject): boolean {
  for (const _name in object) return false
  return true
}

/** Accepts an object, its JSON text, and that text as a JSON string. */
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
