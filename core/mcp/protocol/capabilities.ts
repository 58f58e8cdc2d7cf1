/** The client capabilities that questions need: read from declarations, encoded for session ids, checked against questions. Pure. */
import { isObject, type JsonObject } from '../../json.ts'
import { METHOD_NOT_FOUND, MISSING_CAPABILITY } from './error-codes.ts'
import type { JsonRpcError, ServerRequest } from './json-rpc.ts'

const ASKABLE = ['elicitation', 'sampling', 'roots']
/** The code letter of each capability and of each of its members. */
const LETTERS: readonly (readonly [letter: string, capability: string, member?: string])[] = [
  ['e', 'elicitation'],
  ['f', 'elicitation', 'form'],
  ['u', 'elicitation', 'url'],
  ['s', 'sampling'],
  ['t', 'sampling', 'tools'],
  ['c', 'sampling', 'context'],
  ['r', 'roots'],
  ['l', 'roots', 'listChanged'],
]

/** The part of a client's declared capabilities that questions need; undefined if there is none. */
export function askable(declared: unknown): JsonObject | undefined {
  if (!isObject(declared)) return undefined
  let found: JsonObject | undefined
  for (const name of ASKABLE) {
    if (!isObject(declared[name])) continue
    found ??= {}
    found[name] = declared[name]
  }
  return found
}

/** Encodes which capabilities and members are declared; the contents of a member are not encoded. */
export function capabilityCode(capabilities: JsonObject | undefined): string {
  if (!capabilities) return ''
  const has = ([, capability, member]: (typeof LETTERS)[number]) => {
    const declared = capabilities[capability]
    return isObject(declared) && (member === undefined || isDeclared(declared[member]))
  }
  return LETTERS.filter(has)
    .map(([letter]) => letter)
    .join('')
}

/** Decodes what `capabilityCode` wrote; undefined if no capability is declared. */
export function readCapabilityCode(code: string): JsonObject | undefined {
  const found: { [capability: string]: JsonObject } = {}
  for (const [letter, capability, member] of LETTERS) {
    if (!code.includes(letter)) continue
    found[capability] ??= {}
    if (member !== undefined) found[capability][member] = member === 'listChanged' ? true : {}
  }
  return Object.keys(found).length > 0 ? found : undefined
}

/**
 * The capability that a question needs and the client did not declare; undefined if it did, or if the method is not a question.
 * Source: requiredClientCapabilitiesForInputRequest of the 2.x SDK; `elicitation: {}` implies forms.
 */
export function missingCapabilities(
  question: ServerRequest,
  declared: JsonObject | undefined,
): JsonObject | undefined {
  const required = requiredFor(question)
  if (!required) return undefined
  const [capability, member] = required
  const given = declared?.[capability]
  if (isObject(given) && (member === undefined || isDeclared(given[member]))) return undefined
  const isImplied = member === 'form' && isObject(given) && !isDeclared(given.url)
  if (isImplied) return undefined
  return { [capability]: member === undefined ? {} : { [member]: {} } }
}

/** Whether the protocol defines this method as a question to clients. */
export function isQuestion(method: string): boolean {
  return requiredFor({ method }) !== undefined
}

/** The error for a legacy server whose question the client cannot answer. */
export function unaskable({ method }: ServerRequest): JsonRpcError {
  const message = `The client did not declare that it can be asked for ${method.slice(0, 100)}`
  return { code: METHOD_NOT_FOUND, message }
}

/** The error for a caller that did not declare the capability that the server's question needs. */
export function missingCapability(question: ServerRequest, requiredCapabilities: JsonObject): JsonRpcError {
  const message =
    `The server has to ask for ${question.method.slice(0, 100)} to continue, and the client did not declare ` +
    `that it can be asked for this: ${Object.keys(requiredCapabilities).join(', ')}`
  return { code: MISSING_CAPABILITY, message, data: { requiredCapabilities } }
}

function requiredFor({ method, params }: ServerRequest): [string, string?] | undefined {
  switch (method) {
    case 'elicitation/create':
      return ['elicitation', params?.mode === 'url' ? 'url' : 'form']
    case 'sampling/createMessage':
      return params?.tools !== undefined || params?.toolChoice !== undefined
        ? ['sampling', 'tools']
        : ['sampling']
    case 'roots/list':
      return ['roots']
    default:
      return undefined
  }
}

function isDeclared(member: unknown): boolean {
  return member === true || isObject(member)
}
