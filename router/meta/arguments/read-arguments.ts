/** Reads a tool's arguments from a call of a meta-tool, in the forms that models write. Pure. */
import { nameLetters } from '../../../core/catalog/names.ts'
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import { canonicalJson, isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { ownValue } from '../../../core/own-value.ts'
import { quote } from '../wording/sentences.ts'
import { shorten } from '../wording/shorten.ts'
import { onlyAlike } from './alike.ts'
import { type Given, type GivenArguments, objectIn } from './given-arguments.ts'
import { isTooDeep } from './show-value.ts'

/** `isJoined`: whether `args` also has fields that were beside the arguments. */
export type ReadArguments = { args: GivenArguments; isJoined?: boolean; notes: string[] }

const SENT_AS_TEXT = 'Note: the arguments were sent as JSON text; send an object.'
const SENT_BESIDE =
  'Note: the arguments were sent beside the name of the tool; send them in an object of their own.'

const SERVER_FIELDS = ['server_name', 'serverName', 'serverId', 'server'] as const
/** Fields that name the tool and its server, which models repeat beside the arguments. */
export const REPEATED: ReadonlySet<string> = new Set([
  'tool_path',
  'toolPath',
  'prompt_path',
  'tool_name',
  'toolName',
  'tool',
  'name',
  ...SERVER_FIELDS,
])

/** Fields in which models say why they call: nobody misses them. */
const REMARKS: ReadonlySet<string> = new Set([
  'why',
  'reason',
  'reasoning',
  'explanation',
  'thought',
  'thoughts',
  'purpose',
])
/** With more names than this, names are not compared with those of the schema. */
const MAX_COMPARED = 100
const MAX_NAMES_CHARACTERS = 200

/**
 * `given`: the value of the field for arguments, and its text; `beside`: the fields next to it, some of which may be meant as arguments;
 * `properties`: those of the tool's schema; `server`: that of the tool. `notes` tell the model what was corrected, and what is not sent.
 * Undefined if `given` cannot be read as an object.
 */
export function readArguments(
  given: Given,
  beside: JsonObject,
  properties: JsonValue | undefined,
  server?: RouterServer,
): ReadArguments | undefined {
  const isNothing = given.value === undefined || given.value === null || given.value === ''
  const asGiven = isNothing ? { value: {}, text: undefined } : objectIn(given)
  if (!asGiven) return undefined
  const args: JsonObject = asGiven.value
  const notes = typeof given.value === 'string' && !isNothing ? [SENT_AS_TEXT] : []
  if (isEmpty(beside)) return { args: asGiven, notes }
  const { meant, ignored } = sortBeside(args, beside, properties, isNothing)
  if (meant.length > 0) notes.push(SENT_BESIDE)
  if (ignored.length > 0) notes.push(ignoredNote(ignored))
  if (server) notes.push(...serverNotes(beside, properties, server))
  if (meant.length === 0) return { args: asGiven, notes }
  return {
    args: { value: { ...args, ...Object.fromEntries(meant) }, text: undefined },
    isJoined: true,
    notes,
  }
}

type Field = [name: string, value: JsonValue | undefined]

/** Which fields beside the arguments are meant as arguments, and which others are lost, since no argument has their value. */
function sortBeside(
  args: JsonObject,
  beside: JsonObject,
  properties: JsonValue | undefined,
  isNothing: boolean,
): { meant: Field[]; ignored: string[] } {
  const known = isObject(properties) ? properties : {}
  const names = Object.keys(known)
  const fields: Field[] = Object.entries(beside)
  const given = Object.entries(args)
  const isCompared = fields.length + given.length <= MAX_COMPARED
  const nameOf = (name: string): string =>
    !isCompared || Object.hasOwn(known, name) || REPEATED.has(name) ? name : (onlyAlike(name, names) ?? name)
  const taken = new Map(given.map(([name, value]) => [nameOf(name), value]))
  const isMeant = ([name, value]: Field) => {
    const isFree = !taken.has(nameOf(name))
    if (!isFree || !(Object.hasOwn(known, nameOf(name)) || (isNothing && !REPEATED.has(name)))) return false
    taken.set(nameOf(name), value)
    return true
  }
  const isLost = ([name, value]: Field) =>
    !REPEATED.has(name) && !REMARKS.has(name) && !isSame(taken.get(nameOf(name)), value)
  const exactFirst = fields.toSorted(
    ([a], [b]) => Number(Object.hasOwn(known, b)) - Number(Object.hasOwn(known, a)),
  )
  const { meant = [], others = [] } = Object.groupBy(exactFirst, field =>
    isMeant(field) ? 'meant' : 'others',
  )
  return { meant, ignored: others.filter(isLost).map(([name]) => name) }
}

function isSame(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (typeof one !== 'object' || typeof other !== 'object') return one === other
  return !isTooDeep(one) && !isTooDeep(other) && canonicalJson(one) === canonicalJson(other)
}

function ignoredNote(names: readonly string[]): string {
  const listed = shorten(names.map(name => JSON.stringify(name)).join(', '), MAX_NAMES_CHARACTERS)
  return `Note: beside the arguments, and so not sent to the tool: ${listed}. Send all arguments in their own object.`
}

/** A note if a field beside the arguments, which is no argument of the tool, names another server than that of the tool. */
function serverNotes(
  beside: JsonObject,
  properties: JsonValue | undefined,
  { name, title = '' }: RouterServer,
): string[] {
  const known = nameLetters(`${name} ${title}`)
  const isArgument = (field: string) => isObject(properties) && Object.hasOwn(properties, field)
  const wrong = SERVER_FIELDS.filter(field => !isArgument(field))
    .map(field => ownValue(beside, field))
    .find(value => typeof value === 'string' && !known.includes(nameLetters(value)))
  return wrong === undefined
    ? []
    : [`Note: the call named server ${quote(String(wrong))}, but the tool is of ${name}.`]
}

function isEmpty(object: JsonObject): boolean {
  for (const _name in object) return false
  return true
}
