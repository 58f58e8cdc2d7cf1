/** Reads the parameters of a search: its queries and how many hits are wanted. Pure. */
import type { JsonValue } from '../../../core/json.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { stateRefusal } from '../calling/targets.ts'
import type { Refusal } from '../wording/answers.ts'

export const MAX_QUERIES = 10
/** The most hits of one answer. */
export const HIGHEST_LIMIT = 50
/** How many hits of a search can be paged through. */
export const MAX_RANK = 200
export const ENDS_HERE = `These are the best ${MAX_RANK}: narrow the query.`

/** One text or an array of several, trimmed; undefined if there is none, or too many. */
export function readQueries(query: JsonValue | undefined): string[] | undefined {
  const given = Array.isArray(query) ? query : [query]
  if (!given.every(one => typeof one === 'string')) return undefined
  const queries = given.map(one => one.trim()).filter(one => one !== '')
  return queries.length > 0 && queries.length <= MAX_QUERIES ? queries : undefined
}

/** Whether a query is missing, or only white space. */
export function isBlank(query: JsonValue | undefined): boolean {
  return String(query ?? '').trim() === ''
}

export const QUERY_MISSING: Refusal = {
  refusal: `query is missing: a text such as "github create issue", or up to ${MAX_QUERIES} of them in an array.`,
  outcome: 'rejected',
}

/** How many hits are wanted, from 1 to 50; `usual` if not given. A number in a string is accepted too. Undefined for anything else. */
export function readLimit(limit: JsonValue | undefined, usual: number): number | undefined {
  const given = limit ?? usual
  const wanted = typeof given === 'number' || typeof given === 'string' ? Number(given) : Number.NaN
  return Number.isNaN(wanted) ? undefined : Math.min(HIGHEST_LIMIT, Math.max(1, Math.trunc(wanted)))
}

export const LIMIT_WRONG: Refusal = {
  refusal: `limit is no number: give 1 to ${HIGHEST_LIMIT}.`,
  outcome: 'rejected',
}

export const CURSOR_WRONG: Refusal = {
  refusal:
    'cursor is not valid here: give it with the same query and filters as the page before, or begin again without it.',
  outcome: 'rejected',
}

/** The schema of `limit` in a meta-tool's definition. */
export function limitSchema(usual: number) {
  return { type: 'integer', minimum: 1, maximum: HIGHEST_LIMIT, default: usual }
}

/** If the only query is the path of a tool whose server cannot be used now, returns the refusal. A bare name is searched as usual. */
export function refusedPath(catalog: Catalog, queries: readonly string[]): Refusal | undefined {
  const [query = ''] = queries
  return queries.length === 1 && /:|__/.test(query) ? stateRefusal(catalog, query) : undefined
}
