/** Decides whether a call's arguments are sent unchanged, corrected with a note, or refused with the part of the schema they violate. */
import type { ErrorObject } from 'ajv'
import { isObject, type JsonObject } from '../../../core/json.ts'
import { nearestWord } from '../../../crds/nearest.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'
import { shorten } from '../wording/shorten.ts'
import { absentNames } from './argument-help.ts'
import { type Check, correctArguments, isOpen } from './correct-arguments.ts'
import { type GivenArguments, repeatedRefusal, roundedIn, roundedRefusal } from './given-arguments.ts'
import type { SchemaChecks } from './schema-checks.ts'

export type Checked =
  | { args: GivenArguments; notes: string[] }
  /** Why the call must not be made. */
  | { problems: ErrorObject[] }
  | { refusal: string }

/**
 * Only violations that a server cannot work with stop a call: a wrong type, a missing argument, a value that is not allowed, and, if the
 * schema allows no unknown names, an unknown name that is similar to a known one. A schema that cannot be checked stops no call.
 */
export function checkArguments(
  checks: SchemaChecks,
  { definition: { inputSchema }, path, listedName, tool }: ToolRoute,
  given: GivenArguments,
): Checked {
  const repeated = repeatedRefusal(given)
  if (repeated !== undefined) return { refusal: repeated }
  const args = given.value
  const fit = checks.fits(inputSchema, args)
  if (fit !== false && isAllKnown(inputSchema, args)) return { args: given, notes: [] }
  const check: Check = {
    fits: tried => (tried === args ? fit : checks.fits(inputSchema, tried)),
    problems: tried => checks.problems(inputSchema, tried),
  }
  const corrected = correctArguments(inputSchema, args, check, [path, listedName, tool])
  if (corrected) {
    const rounded = roundedIn(corrected.args, given)
    if (rounded !== undefined)
      return { refusal: roundedRefusal(rounded, `Correct them yourself: ${changesText(corrected.changes)}.`) }
    const left = unknownNames(inputSchema, corrected.args)
    const notes = [correctionNote(corrected.changes), ...unknownNote(left, inputSchema)]
    return { args: { value: corrected.args, text: undefined }, notes }
  }
  const unknown = unknownNames(inputSchema, args)
  const misspellings = misspellingsOf(inputSchema, args, unknown)
  const isRefused = fit === false || (misspellings.length > 0 && inputSchema.additionalProperties === false)
  const problems = isRefused ? check.problems(args) : undefined
  if (problems && problems.length > 0) return { problems }
  const others = unknown.filter(name => !misspellings.some(({ given }) => given === name))
  return { args: given, notes: [...misspellings.map(misspellingNote), ...unknownNote(others, inputSchema)] }
}

/** Whether all names are in the schema. This is the usual case, in which nothing needs to be corrected or noted. */
function isAllKnown({ properties = {} }: JsonObject, args: JsonObject): boolean {
  if (!isObject(properties)) return false
  for (const name in args) if (!Object.hasOwn(properties, name)) return false
  return true
}

type Misspelling = { given: string; meant: string }

/** The names of arguments that the schema does not have, unless it allows any. */
function unknownNames(schema: JsonObject, args: JsonObject): string[] {
  const { properties } = schema
  if (!isObject(properties) || isOpen(schema)) return []
  return Object.keys(args).filter(name => !Object.hasOwn(properties, name))
}

/** Unknown names that are similar to known ones: a server that ignores them would do something other than intended. */
function misspellingsOf(schema: JsonObject, args: JsonObject, unknown: readonly string[]): Misspelling[] {
  if (unknown.length === 0) return []
  const absent = absentNames(args, schema)
  return unknown.slice(0, MAX_MISSPELLINGS).flatMap(given => {
    const meant = nearestWord(given, absent)
    return meant === undefined ? [] : [{ given, meant }]
  })
}

const MAX_MISSPELLINGS = 3
/** Keywords whose schemas may have further properties: then no name is surely unknown. */
const COMBINING = ['$ref', 'allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas', 'dependencies'] as const

function misspellingNote({ given, meant }: Misspelling): string {
  return `Note: the tool has no argument ${JSON.stringify(given)}; ${JSON.stringify(meant)} is the nearest that it has.`
}

/** A server may ignore these: a result without the wanted filter looks like one with it. */
function unknownNote(names: readonly string[], schema: JsonObject): string[] {
  if (names.length === 0 || COMBINING.some(keyword => Object.hasOwn(schema, keyword))) return []
  const known = shorten(Object.keys(schema.properties as JsonObject).join(', '), MAX_NAMES_CHARACTERS)
  const unknown = shorten(names.map(name => JSON.stringify(name)).join(', '), MAX_NAMES_CHARACTERS)
  return [
    `Note: the tool's schema has no argument ${unknown}. ${known === '' ? 'It has none.' : `It has: ${known}.`}`,
  ]
}

const MAX_NAMES_CHARACTERS = 200

function correctionNote(changes: readonly string[]): string {
  return `Note: the arguments did not fit the schema and were corrected: ${changesText(changes)}.`
}

function changesText(changes: readonly string[]): string {
  const shown = changes.slice(0, MAX_CHANGES)
  const more = changes.length > shown.length ? `; and ${changes.length - shown.length} more` : ''
  return shown.join('; ') + more
}

const MAX_CHANGES = 5
