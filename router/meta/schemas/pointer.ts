/** Extracts one part of a JSON Schema by a JSON pointer, such as `/properties/filter`, with the definitions it needs. Pure. */

import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { ownValue } from '../../../core/own-value.ts'
import { percentDecoded } from '../../../core/percent-decoded.ts'

const MAX_STEPS = 64
const MAX_POINTER_CHARACTERS = 4_096
const MAX_REFERENCES = 8
const POSITION = /^\d{1,6}$/
/** A reference to a definition in JSON: below the current keyword for definitions, or that of draft-07. */
const REFERENCE = /"\$ref":"#\/(\$defs|definitions)\/([^"/]+)/g

/** Parses a query such as `server:tool#/properties/filter`; undefined for any other. */
export function parsePartQuery(query: string): { path: string; pointer: string } | undefined {
  const at = query.lastIndexOf('#')
  return at > 0 ? { path: query.slice(0, at), pointer: query.slice(at + 1) } : undefined
}

/**
 * The part at a pointer, as a schema of its own. References are followed on the way, and the pointer may leave out `properties`. For a
 * position in a list of values (`…/enum/40`), the values from that one to the end. Undefined if the pointer matches nothing.
 */
export function schemaPart(schema: JsonObject, pointer: string): JsonObject | undefined {
  const steps = stepsOf(pointer)
  if (!steps) return undefined
  let part: JsonValue = schema
  let key = ''
  for (const step of steps) {
    if (Array.isArray(part) && key === 'enum')
      return POSITION.test(step) ? { enum: part.slice(Number(step)) } : undefined
    const next = stepInto(schema, part, step)
    if (next === undefined) return undefined
    part = next
    key = step
  }
  if (!isObject(part)) return key === '' ? undefined : { [key]: part }
  return withDefinitions(schema, part)
}

/** The target of a local reference such as `#/$defs/Filter`, following further references; undefined for any other. */
export function resolveReference(root: JsonObject, reference: JsonValue | undefined): JsonObject | undefined {
  let target: JsonValue | undefined = { $ref: reference }
  for (let hops = 0; isObject(target) && typeof target.$ref === 'string'; hops++) {
    const steps: string[] | undefined = target.$ref.startsWith('#')
      ? stepsOf(target.$ref.slice(1))
      : undefined
    if (!steps || hops === MAX_REFERENCES) return undefined
    target = steps.reduce<JsonValue | undefined>(childOf, root)
  }
  return isObject(target) ? target : undefined
}

function stepInto(root: JsonObject, part: JsonValue, step: string): JsonValue | undefined {
  const found = childOf(part, step)
  if (found !== undefined || !isObject(part)) return found
  const named = childOf(part.properties, step)
  if (named !== undefined || part.$ref === undefined) return named
  const target = resolveReference(root, part.$ref)
  return target && (childOf(target, step) ?? childOf(target.properties, step))
}

function childOf(value: JsonValue | undefined, step: string): JsonValue | undefined {
  if (Array.isArray(value)) return POSITION.test(step) ? value[Number(step)] : undefined
  return isObject(value) ? ownValue(value, step) : undefined
}

/** The steps of `/a/b`, or of `a/b`, decoded; undefined if there are too many. */
function stepsOf(pointer: string): string[] | undefined {
  if (pointer.length > MAX_POINTER_CHARACTERS) return undefined
  const steps = pointer.replace(/^\//, '').split('/')
  if (steps.length > MAX_STEPS) return undefined
  return steps.filter((step, at) => step !== '' || at > 0).map(step => unescaped(decoded(step)))
}

/** A step of a JSON pointer (RFC 6901) without escapes: `~1` stands for a slash, `~0` for a tilde. */
export function unescaped(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Without percent-encoding, which pointers in URI fragments have; unchanged if it is malformed. */
function decoded(step: string): string {
  return percentDecoded(step) ?? step
}

/** The part with the definitions that it refers to, directly or through others; definitions of its own are kept. */
export function withDefinitions(root: JsonObject, part: JsonObject): JsonObject {
  if (part === root) return part
  const needed = neededDefinitions(root, part)
  if (needed.size === 0) return part
  const whole = { ...part }
  for (const [keyword, definitions] of needed) {
    const own = part[keyword]
    whole[keyword] = { ...(isObject(own) ? own : {}), ...Object.fromEntries(definitions) }
  }
  return whole
}

/** The definitions that a part refers to, directly or through others: by keyword, then by name. */
function neededDefinitions(root: JsonObject, part: JsonObject): Map<string, Map<string, JsonObject>> {
  const needed = new Map<string, Map<string, JsonObject>>()
  const queue: JsonObject[] = [part]
  for (const next of queue)
    for (const [, keyword = '', step = ''] of JSON.stringify(next).matchAll(REFERENCE)) {
      const name = unescaped(decoded(step))
      const found = needed.get(keyword) ?? new Map<string, JsonObject>()
      const definition = found.has(name) ? undefined : childOf(root[keyword], name)
      if (!isObject(definition)) continue
      needed.set(keyword, found.set(name, definition))
      queue.push(definition)
    }
  return needed
}
