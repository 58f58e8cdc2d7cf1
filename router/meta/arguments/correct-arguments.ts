/** Corrects common mistakes in arguments that violate the schema: only without loss, and only if they are valid afterwards. Pure. */
import type { ErrorObject } from 'ajv'
import { isObject, type JsonObject, type JsonValue, tryParseJson } from '../../../core/json.ts'
import { unescaped } from '../schemas/pointer.ts'
import { onlyAlike } from './alike.ts'
import { REPEATED } from './read-arguments.ts'
import { isTooDeep, showValue } from './show-value.ts'

/** Checks arguments by the tool's schema: whether they are valid, and if not, why. Undefined if the schema cannot be checked. */
export type Check = {
  fits(args: JsonObject): boolean | undefined
  problems(args: JsonObject): ErrorObject[] | undefined
}

export type Corrected = {
  args: JsonObject
  /** The corrections, each in a few words. */
  changes: string[]
}

/** Names of an object in which models wrap the arguments. */
const WRAPPERS = new Set(['arguments', 'args', 'input', 'params', 'parameters'])
/** How many such objects may be around each other. */
const MAX_WRAPPERS = 4
/** A corrected value may reveal the next mistake, such as a JSON text that contains numbers as strings. */
const MAX_ROUNDS = 3
/** With more names than this, names are not corrected. */
const MAX_NAMES = 100
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/
/** A number with more digits may lose some. */
const MAX_DIGITS = 15
const BOOLEAN = /^(?:true|false)$/i
/** A text that may be meant as a list of several items. */
const LIST_IN_WORDS = /^\s*\[|[,;\n]/

/**
 * Undefined if nothing needs to be corrected, or cannot be. Valid arguments are never changed if all their names are known or the
 * tool accepts any name. `names`: those of the tool itself, in which some calls wrap the arguments.
 */
export function correctArguments(
  schema: JsonObject,
  args: JsonObject,
  check: Check,
  names: readonly string[] = [],
): Corrected | undefined {
  const { properties = {} } = schema
  const allKnown = isObject(properties) && Object.keys(args).every(name => Object.hasOwn(properties, name))
  if ((allKnown || isOpen(schema)) && check.fits(args) !== false) return undefined
  const inner = unwrap(schema, args, names)
  const corrected = inner && correctNamesAndValues(schema, inner, check)
  if (corrected) return { args: corrected.args, changes: [UNWRAPPED, ...corrected.changes] }
  const whole = correctNamesAndValues(schema, args, check)
  return whole && whole.changes.length > 0 ? whole : undefined
}

const UNWRAPPED = 'took the arguments out of the object around them'

/** Whether a tool accepts names that its schema does not define. */
export function isOpen({ additionalProperties, patternProperties }: JsonObject): boolean {
  return (
    (additionalProperties !== undefined && additionalProperties !== false) || patternProperties !== undefined
  )
}

/** Unwraps arguments such as `{args: {…}}` if the tool has no argument `args` but knows all names in it. */
function unwrap(
  schema: JsonObject,
  args: JsonObject,
  toolNames: readonly string[],
  depth = 1,
): JsonObject | undefined {
  const { properties } = schema
  if (!isObject(properties) || depth > MAX_WRAPPERS) return undefined
  const isKnown = (name: string): boolean => Object.hasOwn(properties, name)
  const isRepeated = (name: string): boolean =>
    REPEATED.has(name) && (!isKnown(name) || toolNames.includes(args[name] as string))
  const names = Object.keys(args)
  const wrapper = names.find(name => WRAPPERS.has(name) && !isKnown(name))
  if (wrapper === undefined || !names.every(name => name === wrapper || isRepeated(name))) return undefined
  const inner = parsedAs(args[wrapper], isObject)
  if (!inner) return undefined
  const deeper = unwrap(schema, inner, toolNames, depth + 1)
  if (deeper) return deeper
  return Object.keys(inner).every(isKnown) ? inner : undefined
}

/** Without changes if the arguments are valid; undefined if they cannot be made valid. */
function correctNamesAndValues(schema: JsonObject, args: JsonObject, check: Check): Corrected | undefined {
  const named = isOpen(schema) ? { args, changes: [] } : correctNames(schema, args)
  const fits = check.fits(named.args)
  if (fits !== false) return fits ? named : undefined
  if (isTooDeep(args)) return undefined
  const corrected = correctValues(named.args, check)
  return corrected && { args: corrected.args, changes: [...named.changes, ...corrected.changes] }
}

/** `page_id` becomes `pageId`: unknown names that differ from a known one only in case and separators. */
function correctNames({ properties }: JsonObject, args: JsonObject): Corrected {
  const taken = new Set(Object.keys(args))
  const changes: string[] = []
  if (!isObject(properties) || taken.size > MAX_NAMES) return { args, changes }
  const known = Object.keys(properties)
  const entries = Object.entries(args).map(([name, value]): [string, JsonValue | undefined] => {
    const meant = Object.hasOwn(properties, name) ? undefined : onlyAlike(name, known)
    if (meant === undefined || taken.has(meant)) return [name, value]
    taken.add(meant)
    changes.push(`${name} became ${meant}`)
    return [meant, value]
  })
  return changes.length > 0 ? { args: Object.fromEntries(entries), changes } : { args, changes }
}

function correctValues(args: JsonObject, check: Check): Corrected | undefined {
  const corrected = structuredClone(args)
  const changes: string[] = []
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const problems = check.problems(corrected)
    const touched = new Set<string>()
    const deepestFirst = problems?.toSorted((a, b) => depthOf(b) - depthOf(a))
    const done = deepestFirst?.flatMap(problem => correctValue(corrected, problem, touched) ?? [])
    if (!done || done.length === 0) return undefined
    changes.push(...done)
    if (check.fits(corrected)) return { args: corrected, changes }
  }
  return undefined
}

function depthOf({ instancePath }: ErrorObject): number {
  return instancePath.split('/').length
}

/** A changed value is not changed again in this round, nor are the values that contain it. */
function touch(touched: Set<string>, instancePath: string): void {
  for (let path = instancePath; path !== ''; path = path.slice(0, path.lastIndexOf('/'))) touched.add(path)
}

/** Changes one value in place and describes it, unless it or a value in it was changed before. */
function correctValue(
  args: JsonObject,
  { instancePath, keyword, params }: ErrorObject,
  touched: Set<string>,
): string | undefined {
  if (touched.has(instancePath)) return undefined
  const steps = stepsOf(instancePath)
  const last = steps.pop()
  const parent = steps.reduce<JsonValue | undefined>(childOf, args)
  const value = last === undefined ? undefined : childOf(parent, last)
  if (last === undefined || value === undefined) return undefined
  const wanted = wantedBy(keyword, params)
  const replaced = wanted && converted(value, wanted)
  const path = [...steps, last].join('.')
  if (replaced !== undefined) {
    touch(touched, instancePath)
    Object.assign(parent as JsonObject, { [last]: replaced })
    return `${path}: ${showValue(value)} became ${showValue(replaced)}`
  }
  if (value !== null || !wanted || !isObject(parent)) return undefined
  touch(touched, instancePath)
  delete parent[last] // Null often means "not given"; the next check decides whether it may be omitted.
  return `${path}: left out, since it was null`
}

type Wanted = { types: readonly string[]; values: readonly JsonValue[] }

/** Which types or values the schema requires; undefined if the violated keyword is about something else. */
function wantedBy(keyword: string, params: ErrorObject['params']): Wanted | undefined {
  if (keyword === 'type') return { types: [params.type].flat(), values: [] }
  if (keyword === 'enum') return { types: [], values: params.allowedValues }
  return keyword === 'const' ? { types: [], values: [params.allowedValue] } : undefined
}

/** The value as one of the wanted values or types; undefined if it cannot be converted without loss. */
function converted(value: JsonValue, { types, values }: Wanted): JsonValue | undefined {
  const scalar = typeof value === 'object' ? undefined : String(value)
  const same = values.find(one => typeof one !== 'object' && scalar === String(one))
  if (same !== undefined) return same
  if (scalar !== undefined && values.length > 0)
    return onlyAlike(
      scalar,
      values.filter(one => typeof one === 'string'),
    )
  const [only, ...others] = isList(value) ? value : []
  if (only !== undefined && others.length === 0 && typeof only !== 'object') return only
  for (const type of types) {
    const made = convertTo(type, value)
    if (made !== undefined) return made
  }
  return undefined
}

function convertTo(type: string, value: JsonValue): JsonValue | undefined {
  switch (type) {
    case 'integer':
    case 'number':
      return typeof value === 'string' ? numberIn(value.trim()) : undefined
    case 'boolean':
      return typeof value === 'string' && BOOLEAN.test(value) ? value.toLowerCase() === 'true' : undefined
    case 'string':
      return typeof value === 'boolean' || isExact(value) ? String(value) : undefined
    case 'object':
      return parsedAs(value, isObject)
    case 'array':
      return typeof value === 'string' ? listIn(value) : asList(value)
    default:
      return undefined
  }
}

/** A text as a list of one item, unless it is empty or looks like a list that cannot be read. */
function listIn(text: string): JsonValue[] | undefined {
  return parsedAs(text, isList) ?? (LIST_IN_WORDS.test(text) || text.trim() === '' ? undefined : [text])
}

function asList(value: JsonValue): JsonValue[] | undefined {
  return value === null || Array.isArray(value) ? undefined : [value]
}

/** The number that a text represents, if no digit is lost. */
function numberIn(text: string): number | undefined {
  if (!NUMBER.test(text)) return undefined
  const digits = (text.split(/[eE]/, 1)[0] ?? '').replace(/\D/g, '')
  const value = Number(text)
  const isLost = value === 0 && /[1-9]/.test(digits)
  return digits.length <= MAX_DIGITS && Number.isFinite(value) && !isLost ? value : undefined
}

/** Whether a value is a number that was not rounded when it was parsed: larger ones may have been. */
function isExact(value: JsonValue): value is number {
  return typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER
}

function isList(value: unknown): value is JsonValue[] {
  return Array.isArray(value)
}

/** The value, or what its text parses to, if that has the wanted type and is not nested too deeply. */
function parsedAs<T extends JsonValue>(
  value: JsonValue | undefined,
  isKind: (value: unknown) => value is T,
): T | undefined {
  if (isKind(value)) return value
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return undefined
  const parsed = tryParseJson(value)
  return isKind(parsed) && !isTooDeep(parsed) ? parsed : undefined
}

/** Steps of a JSON pointer. */
export function stepsOf(pointer: string): string[] {
  return pointer.split('/').slice(1).map(unescaped)
}

function childOf(value: JsonValue | undefined, step: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || step === '__proto__') return undefined
  if (!Object.hasOwn(value, step)) return undefined
  return Array.isArray(value) ? value[Number(step)] : value[step]
}
