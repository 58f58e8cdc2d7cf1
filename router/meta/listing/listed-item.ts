/**
 * A tool, resource, template or prompt as a gateway lists it. Official clients reject a whole list because of one invalid field of
 * one item, so such fields are left out. Pure.
 */
import * as z from 'zod'
import { exposeItem } from '../../../core/catalog/expose.ts'
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'

const text = z.string()
const flag = z.boolean()
const objectSchema = z.object({
  type: z.literal('object'),
  properties: z
    .record(
      text,
      z.custom<object>(value => typeof value === 'object' && value !== null),
    )
    .optional(),
  required: z.array(text).optional(),
})
const icon = z.object({
  src: text,
  mimeType: text.optional(),
  sizes: z.array(text).optional(),
  theme: z.enum(['light', 'dark']).optional(),
})
const argument = z.object({ name: text, description: text.optional(), required: flag.optional() })
const annotations = z.object({
  title: text,
  readOnlyHint: flag,
  destructiveHint: flag,
  idempotentHint: flag,
  openWorldHint: flag,
  audience: z.array(z.enum(['user', 'assistant'])),
  priority: z.number().min(0).max(1),
  lastModified: z.iso.datetime({ offset: true }),
})

/** What clients require of the optional fields of an item. */
const OPTIONAL_FIELDS: readonly (readonly [string, z.ZodType])[] = Object.entries({
  title: text,
  description: text,
  mimeType: text,
  size: z.number(),
  icons: z.array(icon),
  arguments: z.array(argument),
  annotations: annotations.partial(),
  execution: z.object({ taskSupport: z.enum(['required', 'optional', 'forbidden']).optional() }),
  outputSchema: objectSchema,
  _meta: z.custom(isObject),
})

/** The item with its valid fields unchanged, without invalid optional ones, and with the gateway's URIs. */
export function listedItem(server: string, item: JsonObject): JsonObject {
  const wrong = OPTIONAL_FIELDS.filter(
    ([field, right]) => item[field] !== undefined && !right.safeParse(item[field]).success,
  )
  const { name, uri, uriTemplate, inputSchema } = item
  return {
    ...exposeItem(server, item),
    ...Object.fromEntries(wrong.map(([field]) => [field, undefined])),
    ...(typeof name !== 'string' && { name: uri ?? uriTemplate }),
    ...(isObject(inputSchema) && { inputSchema: listedSchema(inputSchema) }),
  }
}

/** Repairs an inputSchema: some servers omit `type: object`, or mark required properties with booleans as JSON Schema draft-03 did. */
function listedSchema(schema: JsonObject): JsonObject {
  if (objectSchema.safeParse(schema).success) return schema
  const { properties, required } = schema
  return {
    ...schema,
    type: 'object',
    properties: isObject(properties) ? listedProperties(properties) : undefined,
    required: Array.isArray(required) ? required.filter(name => typeof name === 'string') : undefined,
  }
}

function listedProperties(properties: JsonObject): JsonObject {
  const listed = (schema: JsonValue | undefined) => (isObject(schema) ? schema : {})
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, listed(schema)]))
}
