/** The shape of a value: its keys and types, never the value. Learned from results, and shown as TypeScript. Pure. */
import type { JsonValue } from '../../core/json.ts'

export type Shape =
  | { kind: 'plain'; types: readonly string[] }
  | { kind: 'list'; item: Shape | undefined }
  | { kind: 'object'; fields: ReadonlyMap<string, { shape: Shape; isOptional: boolean }> }
  /** An object whose keys may be data. */
  | { kind: 'record'; value: Shape | undefined }
  | { kind: 'unknown' }

const MAX_DEPTH = 3
/** Objects with more keys are treated as maps, since their keys may be data. */
const MAX_KEYS = 12
/** Limit of the keys of all objects of a shape. */
const MAX_TOTAL_KEYS = 30
const MAX_ITEMS = 20
const IDENTIFIER = /^[A-Za-z_$][\w$]{0,63}$/
const UNKNOWN: Shape = { kind: 'unknown' }

/** Reads a value down to MAX_DEPTH levels; of lists and maps the first items. */
export function shapeOf(value: JsonValue | undefined): Shape {
  return read(value, 0, { keys: MAX_TOTAL_KEYS })
}

function read(value: JsonValue | undefined, depth: number, left: { keys: number }): Shape {
  if (value === undefined) return { kind: 'plain', types: ['undefined'] }
  if (value === null || typeof value !== 'object')
    return { kind: 'plain', types: [value === null ? 'null' : typeof value] }
  if (depth >= MAX_DEPTH) return UNKNOWN
  if (Array.isArray(value)) {
    const items = value.slice(0, MAX_ITEMS).map(item => read(item, depth + 1, { ...left }))
    return { kind: 'list', item: items.length === 0 ? undefined : items.reduce(merged) }
  }
  const entries = Object.entries(value)
  left.keys -= entries.length
  if (entries.length > MAX_KEYS || left.keys < 0 || !entries.every(([key]) => IDENTIFIER.test(key)))
    return { kind: 'record', value: sampled(Object.values(value), depth, left) }
  const fields = entries.map(([key, inner]) => {
    return [key, { shape: read(inner, depth + 1, left), isOptional: false }] as const
  })
  return { kind: 'object', fields: new Map(fields) }
}

/** The shape that fits the first values; undefined without values. */
function sampled(values: readonly (JsonValue | undefined)[], depth: number, left: { keys: number }) {
  const shapes = values.slice(0, MAX_ITEMS).map(value => read(value, depth + 1, { ...left }))
  return shapes.length === 0 ? undefined : shapes.reduce(merged)
}

/** The shape that fits both. Two objects that share fewer than half of their keys are treated as maps. */
export function merged(a: Shape, b: Shape): Shape {
  if (a.kind === 'unknown' || b.kind === 'unknown') return UNKNOWN
  if (a.kind === 'plain' && b.kind === 'plain')
    return { kind: 'plain', types: [...new Set([...a.types, ...b.types])].sort() }
  if (a.kind === 'list' && b.kind === 'list') return { kind: 'list', item: either(a.item, b.item) }
  if (a.kind === 'object' && b.kind === 'object') return mergedFields(a.fields, b.fields)
  if (isMap(a) && isMap(b)) return { kind: 'record', value: either(valueShape(a), valueShape(b)) }
  return UNKNOWN
}

type Fields = Extract<Shape, { kind: 'object' }>['fields']

function mergedFields(a: Fields, b: Fields): Shape {
  const names = [...new Set([...a.keys(), ...b.keys()])]
  const common = names.filter(name => a.has(name) && b.has(name))
  if (names.length > MAX_KEYS || common.length * 2 < names.length) {
    const shapes = [...a.values(), ...b.values()].map(({ shape }) => shape)
    return { kind: 'record', value: shapes.reduce(merged) }
  }
  const fields = names.map(name => {
    const [one, other] = [a.get(name), b.get(name)]
    const shape = either(one?.shape, other?.shape) ?? UNKNOWN
    return [name, { shape, isOptional: !one || !other || one.isOptional || other.isOptional }] as const
  })
  return { kind: 'object', fields: new Map(fields) }
}

function isMap(shape: Shape): shape is Extract<Shape, { kind: 'object' | 'record' }> {
  return shape.kind === 'object' || shape.kind === 'record'
}

function valueShape(shape: Extract<Shape, { kind: 'object' | 'record' }>): Shape | undefined {
  if (shape.kind === 'record') return shape.value
  return [...shape.fields.values()].map(({ shape }) => shape).reduce<Shape | undefined>(either, undefined)
}

function either(a: Shape | undefined, b: Shape | undefined): Shape | undefined {
  return a && b ? merged(a, b) : (a ?? b)
}

/** The shape as a TypeScript type. */
export function shownShape(shape: Shape | undefined): string {
  if (!shape) return 'unknown'
  switch (shape.kind) {
    case 'plain':
      return shape.types.join(' | ')
    case 'list': {
      const item = shownShape(shape.item)
      return item.includes(' | ') && !item.startsWith('{') ? `(${item})[]` : `${item}[]`
    }
    case 'object': {
      const fields = [...shape.fields].map(([name, { shape, isOptional }]) => {
        return `${name}${isOptional ? '?' : ''}: ${shownShape(shape)}`
      })
      return fields.length === 0 ? '{}' : `{${fields.join('; ')}}`
    }
    case 'record':
      return `Record<string, ${shownShape(shape.value)}>`
    case 'unknown':
      return 'unknown'
  }
}
