/** Of a choice whose alternatives are told apart by fixed values, such as `type`, leaves out the problems of what was not meant. Pure. */
import type { ErrorObject } from 'ajv'
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { ownValue } from '../../../core/own-value.ts'
import { resolveReference } from '../schemas/pointer.ts'
import { stepsOf } from './correct-arguments.ts'
import { relax } from './relax.ts'

/** More problems than these are left as they are: each may be compared with each alternative. */
const MAX_PROBLEMS = 1_000
/** Further choices are left as they are. */
const MAX_CHOICES = 20
/** How many names of a value may tell alternatives apart. */
const MAX_NAMES = 50
/** How many parts of the schema are visited in all. */
const MAX_PARTS = 50_000

/**
 * If the fixed values fit one alternative, the problems that only the others have are left out; if they fit none, one problem with all
 * values that are allowed replaces those of the alternatives. `params.part` of it is the part of the schema to show.
 */
export function narrowChoices(schema: JsonObject, problems: readonly ErrorObject[]): readonly ErrorObject[] {
  if (problems.length > MAX_PROBLEMS) return problems
  // The outer ones first: an inner one is narrowed only if it is surely in what was meant.
  const choices = problems.filter(isChoice).toSorted((a, b) => a.instancePath.length - b.instancePath.length)
  const roots = choices.length > 0 ? [relax(schema, 'all'), relax(schema, 'needs')] : []
  const left = { parts: MAX_PARTS }
  let kept = problems
  for (const root of roots.filter(isObject))
    for (const choice of choices.slice(0, MAX_CHOICES)) {
      const narrowed = narrow({ root, left }, kept, choice)
      if (left.parts >= 0) kept = narrowed
    }
  return kept
}

/** `root`: the schema that the arguments were checked by. */
type Narrowing = { root: JsonObject; left: { parts: number } }

function narrow(
  narrowing: Narrowing,
  problems: readonly ErrorObject[],
  choice: ErrorObject,
): readonly ErrorObject[] {
  const holder = holderOf(narrowing, problems, choice)
  const told = holder && tellApart(narrowing, alternativesOf(holder), choice.data as JsonObject)
  if (!told) return problems
  const { meant, wrong } = told
  const dropped = onlyOfOthers(narrowing, problems, choice, { holder, meant })
  const kept = problems.filter(one => !dropped.has(one) && (one !== choice || meant.length > 1))
  return meant.length > 0 ? kept : [...kept, ...wrong.map(tag => notAllowed(choice, tag))]
}

/** The one part of the schema that has the choice; undefined if the choice is of no object, or other choices at its place or around it are unclear. */
function holderOf(
  narrowing: Narrowing,
  problems: readonly ErrorObject[],
  choice: ErrorObject,
): JsonObject | undefined {
  const { instancePath, data } = choice
  const unclear = problems.some(
    one => one !== choice && isChoice(one) && isWithin(instancePath, one.instancePath),
  )
  if (unclear || !problems.includes(choice) || !isObject(data)) return undefined
  const parts = partsAt(narrowing, [narrowing.root], stepsOf(instancePath), alternativesOf)
  const holders = parts.filter(part => violates(part, choice))
  return holders.length === 1 ? holders[0] : undefined
}

/** A name whose value each alternative fixes, and the values that it may have. */
type Tag = { name: string; values: JsonValue[] }

/** The alternatives that the fixed values of an object fit. If none: the names whose values are wrong. Undefined if nothing tells the alternatives apart. */
function tellApart(
  narrowing: Narrowing,
  alternatives: readonly JsonObject[],
  object: JsonObject,
): { meant: JsonObject[]; wrong: Tag[] } | undefined {
  // Only what surely applies: no alternatives of an alternative.
  const sure = (part: JsonObject, path: string[]) => partsAt(narrowing, [part], path, () => [])
  const allowed = (part: JsonObject, name: string) =>
    sure(part, [name]).flatMap(one => fixedValues(one) ?? [])
  const accepts = (part: JsonObject, name: string) => allowed(part, name).includes(object[name] ?? null)
  const objects = alternatives.filter(part => sure(part, []).every(mayBeObject))
  const tags = Object.keys(object)
    .slice(0, MAX_NAMES)
    .filter(name => objects.every(part => allowed(part, name).length > 0))
  const wrong = tags.filter(name => !objects.some(part => accepts(part, name)))
  const right = tags.filter(name => !wrong.includes(name))
  const fitting = objects.filter(part => right.every(name => accepts(part, name)))
  if (tags.length === 0 || fitting.length === 0) return undefined
  const valuesOf = (name: string) => [...new Set(fitting.flatMap(part => allowed(part, name)))]
  return {
    meant: wrong.length === 0 || fitting.length === 1 ? fitting : [],
    wrong: wrong.map(name => ({ name, values: valuesOf(name) })),
  }
}

/** The problems with rules that only alternatives have which are not meant. */
function onlyOfOthers(
  narrowing: Narrowing,
  problems: readonly ErrorObject[],
  choice: ErrorObject,
  { holder, meant }: { holder: JsonObject; meant: readonly JsonObject[] },
): Set<ErrorObject> {
  const start = stepsOf(choice.instancePath)
  const others = alternativesOf(holder).filter(part => !meant.includes(part))
  const elsewhere = (part: JsonObject, depth: number) =>
    part === holder && depth === start.length ? meant : alternativesOf(part)
  const below = problems.filter(one => one !== choice && isWithin(one.instancePath, choice.instancePath))
  const found = [...Map.groupBy(below, one => one.instancePath)].flatMap(([path, there]) => {
    const steps = stepsOf(path)
    const ofOthers = partsAt(narrowing, others, steps.slice(start.length), alternativesOf)
    const ofRest = partsAt(narrowing, [narrowing.root], steps, elsewhere)
    const isOf = (parts: readonly JsonObject[], one: ErrorObject) => parts.some(part => violates(part, one))
    return there.filter(one => isOf(ofOthers, one) && !isOf(ofRest, one))
  })
  return new Set(found)
}

function isChoice({ keyword }: ErrorObject): boolean {
  return keyword === 'anyOf'
}

function isWithin(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}/`)
}

/** All parts of a relaxed schema that apply to the value at a path. `alternatives`: which ones of a choice are followed. */
function partsAt(
  { root, left }: Narrowing,
  from: readonly JsonObject[],
  steps: readonly string[],
  alternatives: (part: JsonObject, depth: number) => readonly JsonObject[],
): JsonObject[] {
  const whole = (parts: readonly JsonObject[], depth: number) => {
    const found = new Set(parts)
    for (const part of found) {
      if (left.parts-- <= 0) break
      const target = part.$ref === undefined ? undefined : resolveReference(root, part.$ref)
      const same = [target, ...[part.allOf ?? []].flat(), ...alternatives(part, depth)]
      for (const one of same.filter(isObject)) found.add(one)
    }
    return [...found]
  }
  return steps.reduce(
    (parts, step, at) =>
      whole(
        parts.flatMap(part => childrenOf(part, step)),
        at + 1,
      ),
    whole(from, 0),
  )
}

function alternativesOf({ anyOf }: JsonObject): JsonObject[] {
  return Array.isArray(anyOf) ? anyOf.filter(isObject) : []
}

function childrenOf(part: JsonObject, step: string): JsonObject[] {
  const { properties, additionalProperties, prefixItems, items } = part
  const property = isObject(properties) ? ownValue(properties, step) : undefined
  const item = Array.isArray(prefixItems) ? prefixItems[Number(step)] : undefined
  return [property ?? additionalProperties, item ?? items].filter(isObject)
}

function mayBeObject(part: JsonObject): boolean {
  return !fixedValues(part) && (part.type === undefined || [part.type].flat().includes('object'))
}

/** Undefined also if a value is an object or list. */
function fixedValues(part: JsonObject): JsonValue[] | undefined {
  const values = part.const === undefined ? part.enum : [part.const]
  return Array.isArray(values) && values.every(one => one === null || typeof one !== 'object')
    ? values
    : undefined
}

/** Whether the problem is about a rule of this part. */
function violates(part: JsonObject, { keyword, params, schema }: ErrorObject): boolean {
  const rule = part[keyword]
  if (rule === undefined) return false
  if (keyword === 'required') return Array.isArray(rule) && rule.includes(params.missingProperty)
  if (keyword === 'additionalProperties')
    return (
      rule === false &&
      ownValue(isObject(part.properties) ? part.properties : {}, params.additionalProperty) === undefined
    )
  return rule === schema || JSON.stringify(rule) === JSON.stringify(schema)
}

/** The problem that a fixed value is one of no alternative. */
function notAllowed(choice: ErrorObject, { name, values }: Tag): ErrorObject {
  return {
    ...choice,
    keyword: 'enum',
    instancePath: `${choice.instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    params: { allowedValues: values, part: { enum: values } },
    data: (choice.data as JsonObject)[name],
  }
}
