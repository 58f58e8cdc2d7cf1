/** Of a choice whose alternatives are told apart by fixed values, such as `type`, keeps only the problems of what was meant. Pure. */
import type { ErrorObject } from 'ajv'
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { ownValue } from '../../../core/own-value.ts'
import { stepsOf } from './correct-arguments.ts'
import { partAt } from './part-at.ts'
import { requiredNames } from './relax.ts'

/** More problems than these are left as they are: each may be compared with each alternative. */
const MAX_PROBLEMS = 1_000
/** Further choices are left as they are. */
const MAX_CHOICES = 20
/** How many names of a value may tell alternatives apart. */
const MAX_NAMES = 50
/** How many parts of the schema are visited in all. */
const MAX_PARTS = 20_000

/**
 * If the fixed values fit one alternative, its own problems remain; if they fit none, one problem remains with all values that are allowed.
 * `params.part` of it is the part of the schema to show.
 */
export function narrowChoices(
  schema: JsonObject,
  args: JsonObject,
  problems: readonly ErrorObject[],
): readonly ErrorObject[] {
  if (problems.length > MAX_PROBLEMS) return problems
  const choices = problems.filter(({ keyword }) => keyword === 'anyOf').slice(0, MAX_CHOICES)
  const left = { parts: MAX_PARTS }
  // The outer ones first: what is within an alternative that is not meant need not be looked at.
  const outerFirst = choices.toSorted((a, b) => a.instancePath.length - b.instancePath.length)
  return outerFirst.reduce<readonly ErrorObject[]>((kept, choice) => {
    return kept.includes(choice) ? narrow({ schema, args, left }, kept, choice) : kept
  }, problems)
}

type Narrowing = { schema: JsonObject; args: JsonObject; left: { parts: number } }

function narrow(
  narrowing: Narrowing,
  problems: readonly ErrorObject[],
  choice: ErrorObject,
): readonly ErrorObject[] {
  const { instancePath: path, data: value, schema: listed } = choice
  if (!isObject(value) || !Array.isArray(listed)) return problems
  const alternatives = listed.filter(isObject).filter(mayBeObject)
  const at = (part: JsonObject, steps: readonly string[]) =>
    partAt(narrowing.schema, value, steps, part, narrowing.left)
  const allowed = (part: JsonObject, name: string) => fixedValues(at(part, [name]))
  const names = Object.keys(value).slice(0, MAX_NAMES)
  const tags = names.filter(name => alternatives.every(part => allowed(part, name)))
  if (tags.length === 0 || alternatives.length === 0) return problems
  const accepts = (part: JsonObject, tag: string) => allowed(part, tag)?.includes(value[tag] ?? null)
  const meant = alternatives.filter(part => tags.every(tag => accepts(part, tag)))
  const isBelow = ({ instancePath }: ErrorObject) =>
    instancePath === path || instancePath.startsWith(`${path}/`)
  const others = problems.filter(problem => !isBelow(problem))
  if (meant.length === 0) {
    const wrong = tags.filter(tag => !alternatives.some(part => accepts(part, tag)))
    const all = (tag: string) => [...new Set(alternatives.flatMap(part => allowed(part, tag) ?? []))]
    return wrong.length > 0 ? [...others, ...wrong.map(tag => notAllowed(choice, tag, all(tag)))] : problems
  }
  const isOf = (part: JsonObject) => (problem: ErrorObject) =>
    violates(at(part, stepsOf(problem.instancePath.slice(path.length))), problem)
  const own = problems.filter(one => one !== choice && isBelow(one) && meant.some(part => isOf(part)(one)))
  if (own.length === 0) return problems
  return meant.length === 1 ? [...others, ...own] : [...others, choice, ...own]
}

function mayBeObject({ type }: JsonObject): boolean {
  return type === undefined || [type].flat().includes('object')
}

function fixedValues(part: JsonObject | undefined): JsonValue[] | undefined {
  if (part?.const !== undefined) return [part.const]
  return Array.isArray(part?.enum) ? part.enum : undefined
}

/** Whether the problem is about a rule of this part, rather than of another alternative. */
function violates(part: JsonObject | undefined, { keyword, params, schema }: ErrorObject): boolean {
  if (!part) return false
  if (keyword === 'required')
    return [part, ...[part.allOf ?? []].flat().filter(isObject)].some(one =>
      requiredNames(one).includes(params.missingProperty),
    )
  if (keyword === 'additionalProperties')
    return (
      part.additionalProperties === false &&
      !ownValue(isObject(part.properties) ? part.properties : {}, params.additionalProperty)
    )
  if (keyword === 'anyOf') return part.anyOf !== undefined || part.oneOf !== undefined
  return JSON.stringify([part[keyword]].flat()) === JSON.stringify([schema].flat())
}

/** The problem that a fixed value is one of no alternative. */
function notAllowed(choice: ErrorObject, tag: string, allowedValues: JsonValue[]): ErrorObject {
  return {
    ...choice,
    keyword: 'enum',
    instancePath: `${choice.instancePath}/${tag.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    params: { allowedValues, part: { enum: allowedValues } },
    data: (choice.data as JsonObject)[tag],
  }
}
