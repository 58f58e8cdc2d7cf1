/** Checks that a prompt's required arguments are given before its server is called. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import type { PromptTarget } from '../calling/targets.ts'
import type { Refusal } from '../wording/answers.ts'
import { quote } from '../wording/sentences.ts'
import { shorten } from '../wording/shorten.ts'

const MAX_LIST_CHARACTERS = 400

/** The refusal if required arguments are missing; undefined if none is. `given`: the arguments of the request. */
export function missingArguments(
  { server, prompt }: PromptTarget,
  given: JsonValue | undefined,
): Refusal | undefined {
  const args = isObject(given) ? given : {}
  const required = argumentsOf(prompt.definition).filter(argument => argument.required === true)
  const missing = required.map(({ name }) => String(name)).filter(name => !isGiven(args, name))
  if (missing.length === 0) return undefined
  const names = shorten(missing.map(name => quote(name)).join(', '), MAX_LIST_CHARACTERS)
  const all = shorten((argumentNames(prompt.definition) ?? []).join(', '), MAX_LIST_CHARACTERS)
  const lack = missing.length === 1 ? `the argument ${names}` : `the arguments ${names}`
  return {
    refusal: `The prompt ${quote(prompt.path)} needs ${lack}. Its arguments: ${all} (those with ? may be left out).`,
    outcome: 'rejected',
    server,
  }
}

/** Names of a prompt's arguments; optional ones end with a question mark. Undefined if it declares none. */
export function argumentNames(definition: JsonObject): string[] | undefined {
  if (!Array.isArray(definition.arguments)) return undefined
  return argumentsOf(definition).map(({ name, required }) => `${name}${required === true ? '' : '?'}`)
}

function argumentsOf({ arguments: declared }: JsonObject): JsonObject[] {
  return Array.isArray(declared) ? declared.filter(isObject) : []
}

function isGiven(args: JsonObject, name: string): boolean {
  return Object.hasOwn(args, name) && args[name] !== null && args[name] !== undefined
}
