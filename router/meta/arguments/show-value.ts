/** Formats the value of an argument for an answer to an agent. Pure. */
import { shorten } from '../wording/shorten.ts'

const MAX_VALUE_CHARACTERS = 60

/** The value as JSON, cut if it is long. */
export function showValue(value: unknown): string {
  return shorten(JSON.stringify(value) ?? 'nothing', MAX_VALUE_CHARACTERS)
}
