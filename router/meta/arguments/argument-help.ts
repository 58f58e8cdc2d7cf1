/** Describes which arguments violate a tool's schema, what the schema requires there, and what was probably meant. Pure. */

import type { ErrorObject } from 'ajv'
import { isObject, type JsonObject } from '../../../core/json.ts'
import { nearestWord } from '../../../crds/nearest.ts'
import { estimateTokens } from '../../catalog/estimate.ts'
import { foldSchema } from '../schemas/fold.ts'
import { shorten } from '../wording/shorten.ts'
import { stepsOf } from './correct-arguments.ts'
import { narrowChoices } from './narrow-choices.ts'
import { CHOICES, partAt } from './part-at.ts'
import { requiredNames } from './relax.ts'
import { showValue } from './show-value.ts'

const MAX_PROBLEMS = 3
const MAX_NAME_CHARACTERS = 60
const MAX_PATH_CHARACTERS = 120
const MAX_NAMES = 30
const MAX_NAMES_CHARACTERS = 300
/** How many unknown names are compared with a missing one. */
const MAX_COMPARED = 100
/** Tokens of a problem's sentence, besides the part of the schema. */
const SENTENCE_TOKENS = 60
const MAX_PART_TOKENS = 250

/** One line for each of the first problems; empty without problems. `mostTokens` limits all lines together, but the first is always there. */
export function argumentHelp(
  schema: JsonObject,
  args: JsonObject,
  problems: readonly ErrorObject[],
  mostTokens: number,
): string {
  const chosen = choose(narrowChoices(schema, problems))
  const partTokens = Math.min(MAX_PART_TOKENS, mostTokens / chosen.length - SENTENCE_TOKENS)
  const lines: string[] = []
  let left = mostTokens
  for (const problem of chosen) {
    const line = problemLine(schema, args, problem, partTokens)
    left -= estimateTokens(line)
    if (left >= 0 || lines.length === 0) lines.push(line)
  }
  return lines.join('\n')
}

/** At most one problem for each place. If no alternative of a choice fits, this is reported there, not why each alternative fails. */
function choose(problems: readonly ErrorObject[]): ErrorObject[] {
  const isChoice = ({ keyword }: ErrorObject) => keyword === 'anyOf'
  const choices = new Set(problems.filter(isChoice).map(({ instancePath }) => instancePath))
  const inChoice = (problem: ErrorObject) => choices.has(problem.instancePath) && !isChoice(problem)
  const places = new Map<string, ErrorObject>()
  for (const problem of problems) {
    const place = `${problem.instancePath}/${nameIn(problem) ?? ''}`
    if (!inChoice(problem) && !places.has(place)) places.set(place, problem)
  }
  // First the violations that a server cannot accept, then those that it may accept, then those in alternatives, which may not be meant.
  const rank = ({ keyword, instancePath }: ErrorObject) =>
    isBelow(instancePath, choices) ? 2 : NEEDS.has(keyword) ? 0 : 1
  const ranked = Map.groupBy(places.values(), rank)
  return ([0, 1, 2] as const).flatMap(of => ranked.get(of) ?? []).slice(0, MAX_PROBLEMS)
}

/** Whether one of the paths leads to a value that contains the one at `path`. */
function isBelow(path: string, paths: ReadonlySet<string>): boolean {
  for (let end = path.lastIndexOf('/'); end >= 0; end = path.lastIndexOf('/', end - 1)) {
    if (paths.has(path.slice(0, end))) return true
    if (end === 0) break
  }
  return false
}

const NEEDS: ReadonlySet<string> = new Set(['required', 'type', 'enum', 'const', 'anyOf'])

/** The argument that is missing or unknown: it is below the problem's own path. */
function nameIn({ keyword, params }: ErrorObject): string | undefined {
  if (keyword === 'required') return params.missingProperty
  return keyword === 'additionalProperties' ? params.additionalProperty : undefined
}

function problemLine(schema: JsonObject, args: JsonObject, problem: ErrorObject, partTokens: number): string {
  const parentSteps = stepsOf(problem.instancePath)
  const name = nameIn(problem)
  const steps = name === undefined ? parentSteps : [...parentSteps, name]
  const path = steps.length > 0 ? shorten(steps.join('.'), MAX_PATH_CHARACTERS) : 'arguments'
  const sentence = sentenceOf(problem, partAt(schema, args, parentSteps))
  const isUnknown = problem.keyword === 'additionalProperties'
  const part =
    isUnknown || steps.length === 0 ? undefined : (problem.params.part ?? partAt(schema, args, steps))
  const folded = part && partTokens > 0 ? foldSchema(part, partTokens).schema : undefined
  return `- ${path}: ${sentence}${folded ? `; schema there: ${JSON.stringify(folded)}` : ''}`
}

/** What is wrong, without the path. `holder`: the part of the schema at the problem's own path. */
function sentenceOf(problem: ErrorObject, holder: JsonObject | undefined): string {
  const { keyword, params, data, message = 'does not fit' } = problem
  switch (keyword) {
    case 'required':
      return `is missing${mistaken(params.missingProperty, data, holder)}`
    case 'additionalProperties':
      return `is unknown${nearest(params.additionalProperty, absentNames(data, holder))}; there are: ${namesOf(holder)}`
    case 'type':
      return `is ${showValue(data)}, must be ${[params.type].flat().join(' or ')}`
    case 'enum':
      return `is ${showValue(data)}, none of the allowed values${nearest(data, params.allowedValues)}`
    case 'const':
      return `is ${showValue(data)}, must be ${showValue(params.allowedValue)}`
    case 'anyOf':
      return `is ${showValue(data)}, which fits none of the alternatives${nearest(data, valuesOf(holder))}`
    default:
      return `is ${showValue(data)}, ${message}`
  }
}

/** The values that the alternatives of a choice allow, if they name them. */
function valuesOf(part: JsonObject | undefined): unknown[] {
  const alternatives = CHOICES.flatMap(key => part?.[key] ?? []).filter(isObject)
  return alternatives.flatMap(alternative => alternative.enum ?? alternative.const ?? [])
}

/** Names an unknown argument that was given and is similar to the missing one. */
function mistaken(missing: string, data: unknown, holder: JsonObject | undefined): string {
  const given = isObject(data) ? Object.keys(data).filter(name => !knows(holder, name)) : []
  const near = nearestWord(missing, given.slice(0, MAX_COMPARED))
  return near === undefined ? '' : `; you gave ${JSON.stringify(near)}`
}

function nearest(wanted: unknown, known: readonly unknown[]): string {
  if (typeof wanted !== 'string') return ''
  const near = nearestWord(
    wanted,
    known.filter(one => typeof one === 'string'),
  )
  return near === undefined ? '' : `; the nearest is ${JSON.stringify(near)}`
}

/** Known names that were not given, required ones first. */
export function absentNames(data: unknown, holder: JsonObject | undefined): string[] {
  const given = isObject(data) ? data : {}
  const properties = isObject(holder?.properties) ? Object.keys(holder.properties) : []
  return [...new Set([...(holder ? requiredNames(holder) : []), ...properties])].filter(
    name => !Object.hasOwn(given, name),
  )
}

function namesOf(holder: JsonObject | undefined): string {
  const names = isObject(holder?.properties) ? Object.keys(holder.properties) : []
  const more = names.length > MAX_NAMES ? `, and ${names.length - MAX_NAMES} more` : ''
  const listed = names.slice(0, MAX_NAMES).map(name => shorten(name, MAX_NAME_CHARACTERS))
  return names.length === 0 ? 'none' : shorten(listed.join(', '), MAX_NAMES_CHARACTERS) + more
}

function knows(holder: JsonObject | undefined, name: string): boolean {
  return isObject(holder?.properties) && Object.hasOwn(holder.properties, name)
}
