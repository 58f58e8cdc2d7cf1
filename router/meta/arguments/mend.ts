/** Mends the usual slips in arguments that do not fit: only without loss, and only where they fit afterwards. Pure. */
import type { ErrorObject } from 'ajv'
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { shorten } from '../shorten.ts'

/** What is known of arguments by their schema: whether they fit, and if not, why. */
export type Check = {
  fits(args: JsonObject): boolean | undefined
  problems(args: JsonObject): ErrorObject[] | undefined
}

export type Mended = {
  args: JsonObject
  /** What was done, each in a few words. */
  changes: string[]
}

/** Names under which models put the arguments once more. */
const WRAPPERS = new Set(['arguments', 'args', 'input', 'params', 'parameters'])
/** What they repeat beside it. */
const REPEATED = new Set(['tool_path', 'toolName', 'tool', 'name', 'serverId'])
/** One mended value may show the next slip: a text of JSON with numbers in texts. */
const MOST_ROUNDS = 3
const LONGEST_VALUE = 60
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/
const MOST_DIGITS = 15
const BOOLEAN = /^(?:true|false)$/i

/** Undefined where nothing is to be mended, or cannot be. Arguments of nothing but known names that fit are never changed. */
export function mendArguments(schema: JsonObject, args: JsonObject, check: Check): Mended | undefined {
  const inner = unwrap(schema, args)
  if (inner) {
    const changes = ['took the arguments out of the object around them']
    if (check.fits(inner)) return { args: inner, changes }
    const mended = mendValues(inner, check)
    if (mended) return { args: mended.args, changes: [...changes, ...mended.changes] }
  }
  return check.fits(args) === false ? mendValues(args, check) : undefined
}

/** The arguments inside of arguments: `{args: {…}}`, where the tool knows nothing of `args` but all that is in it. */
function unwrap(schema: JsonObject, args: JsonObject): JsonObject | undefined {
  const { properties, additionalProperties } = schema
  if (!isObject(properties) || (additionalProperties !== undefined && additionalProperties !== false))
    return undefined
  const isKnown = (name: string): boolean => Object.hasOwn(properties, name)
  const names = Object.keys(args)
  const wrapper = names.find(name => WRAPPERS.has(name) && !isKnown(name))
  const others = names.filter(name => name !== wrapper)
  if (wrapper === undefined || !others.every(name => REPEATED.has(name) && !isKnown(name))) return undefined
  const inner = parsedAs(args[wrapper], isObject)
  if (!inner) return undefined
  const deeper = unwrap(schema, inner)
  if (deeper) return deeper
  return Object.keys(inner).every(isKnown) ? inner : undefined
}

function mendValues(args: JsonObject, check: Check): Mended | undefined {
  const mended = structuredClone(args)
  const changes: string[] = []
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const problems = check.problems(mended)
    const touched = new Set<string>()
    const done = problems?.flatMap(problem => mendValue(mended, problem, touched) ?? [])
    if (!done || done.length === 0) return undefined
    changes.push(...done)
    if (check.fits(mended)) return { args: mended, changes }
  }
  return undefined
}

/** Changes one value in place, unless it was already, and says how. */
function mendValue(
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
    touched.add(instancePath)
    Object.assign(parent as JsonObject, { [last]: replaced })
    return `${path}: ${shown(value)} became ${shown(replaced)}`
  }
  if (value !== null || !wanted || !isObject(parent)) return undefined
  touched.add(instancePath)
  delete parent[last] // Null for "not given": whether it may be left out, the check says.
  return `${path}: left out, since it was null`
}

type Wanted = { types: readonly string[]; values: readonly JsonValue[] }

function wantedBy(keyword: string, params: ErrorObject['params']): Wanted | undefined {
  if (keyword === 'type') return { types: [params.type].flat(), values: [] }
  if (keyword === 'enum') return { types: [], values: params.allowedValues }
  return keyword === 'const' ? { types: [], values: [params.allowedValue] } : undefined
}

function converted(value: JsonValue, { types, values }: Wanted): JsonValue | undefined {
  const scalar = typeof value === 'object' ? undefined : String(value)
  const same = values.find(one => typeof one !== 'object' && scalar === String(one))
  if (same !== undefined) return same
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
      return typeof value === 'string' ? (parsedAs(value, isList) ?? [value]) : asList(value)
    default:
      return undefined
  }
}

function asList(value: JsonValue): JsonValue[] | undefined {
  return value === null || Array.isArray(value) ? undefined : [value]
}

/** The number that a text is, where none of its digits is lost. */
function numberIn(text: string): number | undefined {
  const digits = text.replace(/[eE].*$/, '').replace(/\D/g, '')
  const value = Number(text)
  return NUMBER.test(text) && digits.length <= MOST_DIGITS && Number.isFinite(value) ? value : undefined
}

/** Larger ones were rounded when they were read. */
function isExact(value: JsonValue): value is number {
  return typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER
}

function isList(value: unknown): value is JsonValue[] {
  return Array.isArray(value)
}

/** The value, or what its text says in JSON, where that is of the kind. */
function parsedAs<T extends JsonValue>(
  value: JsonValue | undefined,
  isKind: (value: unknown) => value is T,
): T | undefined {
  if (isKind(value)) return value
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return undefined
  try {
    const parsed: unknown = JSON.parse(value)
    return isKind(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/** Of a JSON pointer. */
export function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function childOf(value: JsonValue | undefined, step: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || step === '__proto__') return undefined
  if (!Object.hasOwn(value, step)) return undefined
  return Array.isArray(value) ? value[Number(step)] : value[step]
}

function shown(value: JsonValue): string {
  return shorten(JSON.stringify(value), LONGEST_VALUE)
}
