/** Reads a tool's arguments from a call of a meta-tool, in the forms that models write. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { type Given, type GivenArguments, objectIn } from './given-arguments.ts'

export type ReadArguments = { args: GivenArguments; notes: string[] }

const SENT_AS_TEXT = 'Note: the arguments were sent as JSON text; send an object.'
const SENT_BESIDE =
  'Note: the arguments were sent beside the name of the tool; send them in an object of their own.'

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
 * `given`: the value of the field for arguments, and its text; `beside`: the fields next to it, some of which may be meant as arguments;
 * `properties`: those of the tool's schema. `notes` tell the model what was corrected. Undefined if `given` cannot be read as an object.
 */
export function readArguments(
  given: Given,
  beside: JsonObject,
  properties: JsonValue | undefined,
): ReadArguments | undefined {
  const isNothing = given.value === undefined || given.value === null || given.value === ''
  const asGiven = isNothing ? { value: {}, text: undefined } : objectIn(given)
  if (!asGiven) return undefined
  const args: JsonObject = asGiven.value
  const notes = typeof given.value === 'string' && !isNothing ? [SENT_AS_TEXT] : []
  if (isEmpty(beside)) return { args: asGiven, notes }
  const isKnown = (name: string) => isObject(properties) && Object.hasOwn(properties, name)
  const isMeant = (name: string) =>
    !Object.hasOwn(args, name) && (isKnown(name) || (isNothing && !REPEATED.has(name)))
  const meant = Object.entries(beside).filter(([name]) => isMeant(name))
  if (meant.length === 0) return { args: asGiven, notes }
  const whole = { value: { ...args, ...Object.fromEntries(meant) }, text: undefined }
  return { args: whole, notes: [...notes, SENT_BESIDE] }
}

function isEmpty(object: JsonObject): boolean {
  for (const _name in object) return false
  return true
}
