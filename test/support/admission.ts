/** Validates an object of a CRD as the API server would: defaults, structural schema, unique keys of map lists, CEL rules. */
import { Environment } from '@marcbachmann/cel-js'
import { Ajv } from 'ajv'
import { isObject, type JsonValue } from '../../core/json.ts'
import { parseBytes } from '../../crds/quantity.ts'
import type { Schema } from '../../scripts/crd.ts'

/** Returns a function that returns the first reason why the API server would refuse a value, or undefined if it would accept it. */
export function admission(schema: Schema): (given: JsonValue) => string | undefined {
  const ajv = new Ajv({ strict: false, useDefaults: true, validateFormats: false })
  const validate = ajv.compile({ type: 'object', properties: { value: schema } })
  const cel = celEnvironment()
  return given => {
    const holder = { value: withoutNulls(given) as JsonValue }
    if (!validate(holder)) return ajv.errorsText(validate.errors)
    return duplicates(schema, holder.value) ?? brokenRule(schema, holder.value, cel)
  }
}

/** Evaluates the CEL rules of the schema and its fields; returns the message of the first broken one. */
function brokenRule(schema: Schema, value: JsonValue | undefined, cel: Environment): string | undefined {
  if (value === undefined) return undefined
  for (const { rule, message } of schema['x-kubernetes-validations'] ?? []) {
    if (!holds(rule, value, cel)) return message
  }
  return childrenOf(schema, value)
    .map(([child, inner]) => brokenRule(child, inner, cel))
    .find(Boolean)
}

/** A rule that cannot be evaluated counts as broken, as in the API server. */
function holds(rule: string, value: JsonValue, cel: Environment): boolean {
  try {
    return cel.evaluate(rule, { self: forCel(value) }) === true
  } catch {
    return false
  }
}

function duplicates(schema: Schema, value: JsonValue | undefined): string | undefined {
  const byName = (schema as { 'x-kubernetes-list-map-keys'?: string[] })['x-kubernetes-list-map-keys']
  if (byName && Array.isArray(value)) {
    const names = value.map(entry => (isObject(entry) ? byName.map(key => entry[key]).join() : ''))
    if (new Set(names).size < names.length) return 'Duplicate value'
  }
  return childrenOf(schema, value)
    .map(([child, inner]) => duplicates(child, inner))
    .find(Boolean)
}

function childrenOf(schema: Schema, value: JsonValue | undefined): [Schema, JsonValue | undefined][] {
  const { items, properties = {}, additionalProperties: values } = schema
  if (Array.isArray(value)) return items ? value.map(entry => [items, entry]) : []
  if (!isObject(value)) return []
  if (values) return Object.values(value).map(entry => [values, entry])
  return Object.entries(properties).map(([name, child]) => [child, value[name]])
}

/** CEL with the Kubernetes functions that our rules use. A quantity is represented by a number. */
function celEnvironment(): Environment {
  return new Environment()
    .registerVariable('self', 'dyn')
    .registerFunction('isURL(string): bool', (text: string) => URL.canParse(text))
    .registerFunction('quantity(string): double', (text: string) => parseBytes(text))
    .registerFunction('double.isGreaterThan(double): bool', (a: number, b: number) => a > b)
}

/** The CEL library represents the type `int` by BigInt. */
function forCel(value: JsonValue | undefined): unknown {
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value)
  if (Array.isArray(value)) return value.map(forCel)
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, forCel(inner)]))
    : value
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const given = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(given.map(([key, inner]) => [key, withoutNulls(inner)]))
}
