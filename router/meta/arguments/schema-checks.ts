/** Checks arguments against schemas: compiled by ajv at first use, cached for the most recently called tools. */
import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { JsonObject } from '../../../core/json.ts'
import { type Rigour, relax, STEP } from './relax.ts'

export type SchemaChecks = {
  /** Whether a server can work with the arguments; undefined if the schema cannot be checked, which must not stop a call. */
  fits(schema: JsonObject, args: JsonObject): boolean | undefined
  /**
   * Everything wrong with the arguments, including bounds and unknown names, or only the first problem if they are large; undefined
   * if that cannot be determined.
   */
  problems(schema: JsonObject, args: JsonObject): ErrorObject[] | undefined
}

/** How many compiled schemas are cached. Each takes some 20 to 80 KB. */
export const MAX_COMPILED = 200
/** Limit of schema parts visited by a check: takes some milliseconds. */
const MAX_STEPS = { needs: 100_000, all: 1_000 } satisfies Record<Rigour, number>

/** Returns what is wrong with the arguments, empty if nothing is; undefined if that cannot be determined. */
type Validate = (args: JsonObject) => ErrorObject[] | undefined
/** Undefined: not compiled yet; null: cannot be compiled. */
type Compiled = Partial<Record<Rigour, Validate | null>>

export function createSchemaChecks(): SchemaChecks {
  /** By schema object of a catalog, in two generations: when the recent one is full, the older one is dropped. */
  let known = new Map<JsonObject, Compiled>()
  let before = known

  function compiledOf(schema: JsonObject): Compiled {
    const found = known.get(schema)
    if (found) return found
    const compiled = before.get(schema) ?? {}
    if (known.size >= MAX_COMPILED / 2) {
      before = known
      known = new Map()
    }
    known.set(schema, compiled)
    return compiled
  }
  function check(schema: JsonObject, args: JsonObject, rigour: Rigour): ErrorObject[] | undefined {
    const compiled = compiledOf(schema)
    compiled[rigour] ??= compiled[rigour] === null ? null : (compile(schema, rigour) ?? null)
    return compiled[rigour]?.(args)
  }
  return {
    fits(schema, args) {
      const problems = check(schema, args, 'needs')
      return problems && problems.length === 0
    },
    problems: (schema, args) => check(schema, args, 'all') ?? check(schema, args, 'needs'),
  }
}

/** A new instance each time: ajv never frees compiled schemas, and schemas of different servers must not see each other. */
function compile(schema: JsonObject, rigour: Rigour): Validate | undefined {
  const budget = { left: 0 }
  const ajv = new Ajv2020({
    strict: false,
    meta: false,
    validateSchema: false,
    addUsedSchema: false,
    inlineRefs: false,
    ownProperties: true,
    allErrors: rigour === 'all',
    verbose: true,
    logger: false,
  })
  ajv.addKeyword({
    keyword: STEP,
    modifying: false,
    errors: false,
    before: '$ref', // Before the keywords that lead to other parts.
    validate: (steps: number) => {
      budget.left -= steps
      if (budget.left < 0) throw new RangeError('too many steps')
      return true
    },
  })
  try {
    const relaxed = relax(schema, rigour)
    const validate = relaxed && ajv.compile(relaxed)
    return validate && (args => run(validate, args, () => (budget.left = MAX_STEPS[rigour])))
  } catch {
    return undefined // Arguments cannot be checked with such a schema.
  }
}

function run(validate: ValidateFunction, args: JsonObject, refill: () => void): ErrorObject[] | undefined {
  refill()
  try {
    return validate(args) ? [] : (validate.errors ?? [])
  } catch {
    return undefined // Too many steps, or too deep.
  }
}
