/** Explains which arguments do not fit a tool's schema, with the part of the schema that says so. Pure. */
import { z } from 'zod'
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { shorten } from '../shorten.ts'

const MOST_ISSUES = 3
const LONGEST_SCHEMA_PART = 800
const LONGEST_MESSAGE = 200

/** Undefined where the arguments fit, or the schema is beyond what can be checked. */
export function argumentHelp(schema: JsonObject, args: JsonObject): string | undefined {
  const checked = check(schema, args)
  if (!checked || checked.success) return undefined
  const lines = checked.error.issues.slice(0, MOST_ISSUES).map(issue => line(schema, issue))
  return `The arguments do not fit the input_schema:\n${lines.join('\n')}`
}

function check(schema: JsonObject, args: JsonObject) {
  try {
    return z.fromJSONSchema(harmless(schema)).safeParse(args)
  } catch {
    return undefined // A schema that zod cannot read tells us nothing about the arguments.
  }
}

/** Without regular expressions, which come from outside and could take forever, and formats, which few servers check. */
function harmless(schema: JsonObject): z.core.JSONSchema.JSONSchema {
  const text = JSON.stringify(schema, (key, value: unknown) => {
    const isRule =
      key === 'patternProperties' || ((key === 'pattern' || key === 'format') && typeof value === 'string')
    return isRule ? undefined : value
  })
  return JSON.parse(text)
}

function line(schema: JsonObject, { path, message }: z.core.$ZodIssue): string {
  const part = partAt(schema, path)
  const shown =
    part === undefined ? '' : `; schema there: ${shorten(JSON.stringify(part), LONGEST_SCHEMA_PART)}`
  return `- ${path.length > 0 ? path.join('.') : 'arguments'}: ${shorten(message, LONGEST_MESSAGE)}${shown}`
}

/** The deepest part of the schema that a path leads to; of the whole object only the names. */
function partAt(schema: JsonObject, path: readonly PropertyKey[]): JsonValue | undefined {
  if (path.length === 0)
    return {
      required: schema.required,
      properties: isObject(schema.properties) ? Object.keys(schema.properties) : [],
    }
  let part: JsonValue | undefined = schema
  for (const step of path) {
    if (!isObject(part)) return undefined
    const next: JsonValue | undefined =
      typeof step === 'number'
        ? part.items
        : isObject(part.properties)
          ? part.properties[String(step)]
          : undefined
    if (next === undefined) return part === schema ? undefined : part
    part = next
  }
  return part
}
