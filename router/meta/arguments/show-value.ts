/** Formats the value of an argument for an answer to an agent. Pure. */
import { shorten } from '../wording/shorten.ts'

const MAX_VALUE_CHARACTERS = 60

export function showValue(value: unknown): string {
  return shorten(JSON.stringify(value) ?? 'nothing', MAX_VALUE_CHARACTERS)
}
