/** The fields of our kinds according to their schemas, their occurrences in a manifest, and other values for them. */
import type { GivenScript } from '../../core/catalog/resolve-scripts.ts'
import { inspectScript } from '../../core/code/inspect-script.ts'
import { mcpGatewaySchema } from '../../crds/gateway.ts'
import type { Manifest } from '../../crds/parse.ts'
import { type McpScript, mcpScriptSchema } from '../../crds/script.ts'
import { mcpServerSchema } from '../../crds/server.ts'

/** `path` is for example `spec.env[].value`, with `*` for keys of maps; `description` joins those of the field and its parents. */
export type Field = { path: string; description: string }
/** The path of a value in a manifest, as keys and indexes. */
export type Place = readonly (string | number)[]

type Schema = {
  description?: string
  def: { innerType?: Schema; shape?: Record<string, Schema>; element?: Schema; valueType?: Schema }
}

const SCHEMAS = { McpServer: mcpServerSchema, McpGateway: mcpGatewaySchema, McpScript: mcpScriptSchema }

/** The fields of the spec, without those that only contain other fields. */
export function fieldsOf(kind: keyof typeof SCHEMAS): Field[] {
  return leaves(SCHEMAS[kind].shape.spec as unknown as Schema, { path: 'spec', description: '' })
}

function leaves(schema: Schema, { path, description }: Field): Field[] {
  const { innerType, shape = {}, element, valueType } = schema.def
  const here = { path, description: `${description} ${schema.description ?? ''}` }
  if (innerType) return leaves(innerType, here)
  const inner = element ? leaves(element, { ...here, path: `${path}[]` }) : []
  // A list of scalars, or of objects without a schema, is one field.
  if (inner.length > 0 && inner[0]?.path !== `${path}[]`) return inner
  if (valueType && Object.keys(unwrapped(valueType).def.shape ?? {}).length > 0)
    return leaves(valueType, { ...here, path: `${path}.*` })
  const entries = Object.entries(shape)
  return entries.length === 0
    ? [here]
    : entries.flatMap(([key, child]) => leaves(child, { ...here, path: `${path}.${key}` }))
}

function unwrapped(schema: Schema): Schema {
  return schema.def.innerType ? unwrapped(schema.def.innerType) : schema
}

/** The places where a manifest sets a field. */
export function occurrencesOf({ path }: Field, manifest: Manifest): Place[] {
  const steps = path.split(/\.|(?=\[\])/)
  let found: { at: Place; value: unknown }[] = [{ at: [], value: manifest }]
  for (const step of steps) {
    found = found.flatMap(({ at, value }) => {
      if (typeof value !== 'object' || value === null) return []
      const keys = Array.isArray(value) ? [...value.keys()] : step === '*' ? Object.keys(value) : [step]
      return keys
        .filter(key => Object.hasOwn(value, key))
        .map(key => ({ at: [...at, key], value: (value as Record<string | number, unknown>)[key] }))
    })
  }
  return found.map(({ at }) => at)
}

/** Copies of the manifest without the value at the place, and with other values there; not all of them are valid. */
export function variantsOf(manifest: Manifest, place: Place): unknown[] {
  return [
    undefined,
    ...others(
      place.reduce<unknown>((value, step) => (value as Record<string | number, unknown>)[step], manifest),
    ),
  ].map(value => replaced(manifest, place, value))
}

/** Values of enum fields. */
const WORDS = ['shared', 'streamable-http', 'stdio', 'In', 'Caller', 'Gateway', 'Allow']

function others(value: unknown): unknown[] {
  if (typeof value === 'boolean') return [!value]
  if (typeof value === 'number') return [value + 1, value - 1]
  if (typeof value === 'string') return [`${value}x`, `1${value}`, ...WORDS]
  if (Array.isArray(value) && value.every(item => typeof item === 'string')) return [[...value, 'more']]
  return Array.isArray(value) && value.length > 1 ? [value.slice(1)] : []
}

function replaced(value: unknown, [step, ...rest]: Place, by: unknown): unknown {
  if (step === undefined) return by
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) }
  const holder = copy as Record<string | number, unknown>
  holder[step] = replaced(holder[step], rest, by)
  return copy
}

/** A script with some labels. */
export function scriptOf(
  name: string,
  labels: Record<string, string | undefined>,
  namespace: string,
): McpScript {
  return mcpScriptSchema.parse({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpScript',
    metadata: { name, namespace, labels },
    spec: { description: 'Answers one', code: 'return 1' },
  })
}

export function inspected(manifest: Manifest): GivenScript {
  const script = manifest as McpScript
  return { manifest: script, inspected: inspectScript(script.spec.code) }
}
