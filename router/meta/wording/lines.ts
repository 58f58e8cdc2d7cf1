/** Fits lines into an answer within the token budget. Pure. */
import type { JsonObject } from '../../../core/json.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { estimateTokens } from '../../catalog/estimate.ts'

/** Share of a budget that an answer may use: its tokens are estimated, and estimates can be too low. */
const SAFE_SHARE = 0.85

/** How many times its budget an answer may use to show a tool that was requested by name with its whole schema. */
export const WHOLE_BUDGETS = 2.5

/** Estimated tokens available for the lines of one answer. */
export function answerBudget({ config }: Catalog): number {
  return config.budget.responseTokens * SAFE_SHARE
}

/** Estimated tokens of a line as JSON. */
export function lineCost(line: JsonObject): number {
  return estimateTokens(JSON.stringify(line))
}

/** The first lines that fit into `budget`, at least one if there are any, with their tokens. All tokens are estimated. */
export function fitLines(
  lines: Iterable<JsonObject>,
  budget: number,
): { lines: JsonObject[]; tokens: number } {
  const fitting: JsonObject[] = []
  let tokens = 0
  for (const line of lines) {
    const cost = lineCost(line)
    if (fitting.length > 0 && tokens + cost > budget) break
    fitting.push(line)
    tokens += cost
  }
  return { lines: fitting, tokens }
}

/** The first names that fit into `budget` (estimated tokens); if some do not fit, the last entry counts them: `and 3 more`. */
export function fitNames(names: readonly string[], budget: number): string[] {
  let tokens = 0
  const end = names.findIndex(name => {
    tokens += estimateTokens(name) + 2
    return tokens > budget
  })
  return end < 0 ? [...names] : [...names.slice(0, end), `and ${names.length - end} more`]
}

/** Rounds a relevance or a time to two decimals, as answers show it. */
export function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
