/** Turns zod's issues into problems: a reason, a message that says what to do, the path of the field. Pure. */
import type * as z from 'zod'
import { nearestWord } from './nearest.ts'

export type Path = readonly (string | number)[]

/** A problem of a manifest; `at` is its path as a list, to look up its position in a file. */
export type ManifestProblem = { reason: string; message: string; path: string; at: Path }

/** The problems of a value that `schema` rejected: for each field, the first that was found. */
export function toProblems(schema: z.ZodType, issues: readonly z.core.$ZodIssue[]): ManifestProblem[] {
  const problems = issues.flatMap(issue => {
    const at = issue.path.map(step => (typeof step === 'number' ? step : String(step)))
    if (issue.code === 'unrecognized_keys') return issue.keys.map(key => unknownField(schema, at, key))
    const reason = reasonOf(issue)
    return [problem(reason, reason === 'MissingField' ? required(schema, at) : issue.message, at)]
  })
  return problems.filter(({ path }, index) => problems.findIndex(other => other.path === path) === index)
}

/** A problem of the field at a path. */
export function problem(reason: string, message: string, at: Path): ManifestProblem {
  return { reason, message, path: pathText(at), at }
}

/** A path as text, such as `spec.headers[0].name`; keys that are not identifiers are in brackets and quotes. */
export function pathText(at: Path): string {
  let text = ''
  for (const step of at) {
    if (typeof step === 'number') text += `[${step}]`
    else if (!/^[A-Za-z_][\w-]*$/.test(step)) text += `[${JSON.stringify(step)}]`
    else text += text === '' ? step : `.${step}`
  }
  return text
}

/** The inverse of pathText. */
export function pathSteps(text: string): Path {
  return [...text.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/g)].map(
    ([, index, quoted, word = '']) => {
      if (index !== undefined) return Number(index)
      return quoted === undefined ? word : String(JSON.parse(quoted))
    },
  )
}

/** zod's error map: the message of an issue whose schema defines none. */
export function explain(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'is required'
        : `must be ${article(issue.expected)}, not ${shown(issue.input)}${quotesHint(issue.expected, issue.input)}`
    case 'invalid_value':
      return explainChoice(issue.values.map(String), issue.input)
    case 'too_small':
      return `must ${sizeVerb(issue.origin)} at least ${amount(issue.minimum, issue.origin)}`
    case 'too_big':
      return `must ${sizeVerb(issue.origin)} at most ${amount(issue.maximum, issue.origin)}`
    default:
      return undefined
  }
}

function unknownField(schema: z.ZodType, at: Path, key: string): ManifestProblem {
  const known = keysAt(schema, at)
  const nearest = nearestWord(key, known)
  const others = known.length <= 12 ? `; known are ${known.join(', ')}` : ''
  if (at.length === 0 && keysAt(schema, ['spec']).includes(key)) {
    return problem('UnknownField', 'belongs under spec: indent it there', [key])
  }
  const help = nearest ? `: did you mean "${nearest}"?` : others
  return problem('UnknownField', `is not a known field${help}`, [...at, key])
}

/** The message of a missing field, with the field's description. */
function required(schema: z.ZodType, at: Path): string {
  const description = schemasAt(schema, at).find(found => found.description)?.description
  return description ? `is required: ${description.replace(/\.$/, '')}` : 'is required'
}

/** Names of the fields that the object at a path may have. */
function keysAt(schema: z.ZodType, at: Path): string[] {
  return Object.keys(schemasAt(schema, at).at(-1)?.def.shape ?? {})
}

/** The schema at a path, preceded by its wrappers (optional, default), outermost first. */
function schemasAt(schema: z.ZodType, at: Path): Schema[] {
  let layers = unwrap(schema as unknown as Schema)
  for (const step of at) {
    const def = layers.at(-1)?.def
    layers = unwrap(def?.shape?.[step] ?? def?.element ?? def?.valueType)
  }
  return layers
}

/** A schema and the schemas that it wraps, outermost first. */
function unwrap(schema: Schema | undefined): Schema[] {
  return schema ? [schema, ...unwrap(schema.def.innerType)] : []
}

/** The part of zod's internal structure that is used here. */
type Schema = {
  description?: string
  def: { innerType?: Schema; shape?: Record<string, Schema>; element?: Schema; valueType?: Schema }
}

function reasonOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'custom') return String(issue.params?.reason ?? 'Invalid')
  if (issue.code === 'too_small' || issue.code === 'too_big') return 'OutOfRange'
  if (issue.code === 'invalid_type')
    return issue.message.startsWith('is required') ? 'MissingField' : 'InvalidType'
  return 'Invalid'
}

/** The message for a value that is none of the allowed ones. */
function explainChoice(values: readonly string[], input: unknown): string {
  const nearest = typeof input === 'string' ? nearestWord(input, values) : undefined
  const list = values.length === 1 ? `"${values[0]}"` : `one of ${values.join(', ')}`
  if (input === undefined) return `is required: ${list}`
  return `must be ${list}, not ${choiceShown(input)}${nearest && values.length > 1 ? `: did you mean "${nearest}"?` : ''}`
}

function choiceShown(input: unknown): string {
  return typeof input === 'string' ? JSON.stringify(input.slice(0, 40)) : shown(input)
}

const ARTICLES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of fields',
  record: 'a map of names to values',
}

function article(expected: string): string {
  return ARTICLES[expected] ?? expected
}

function quotesHint(expected: string, input: unknown): string {
  if (expected !== 'string' || (typeof input !== 'number' && typeof input !== 'boolean')) return ''
  return `: write it in quotes, "${input}"`
}

/** Describes a wrong value. Of strings only the type is shown, since they may be secrets. */
function shown(input: unknown): string {
  if (input === null) return 'empty'
  if (Array.isArray(input)) return 'a list'
  if (typeof input === 'object') return 'a map'
  if (typeof input === 'string') return 'a string'
  return `the ${typeof input === 'boolean' ? 'boolean' : 'number'} ${input}`
}

function sizeVerb(origin: string): string {
  return origin === 'number' || origin === 'int' ? 'be' : 'have'
}

function amount(bound: number | bigint, origin: string): string {
  const unit = origin === 'string' ? 'character' : origin === 'array' ? 'entr' : ''
  if (unit === '') return String(bound)
  const one = Number(bound) === 1
  return `${bound} ${unit === 'entr' ? (one ? 'entry' : 'entries') : one ? unit : `${unit}s`}`
}
