/** Formats the value of an argument for an answer to an agent. Pure. */
import { isDeeper } from '../../../crds/depth.ts'
import { shorten } from '../wording/shorten.ts'

const MAX_VALUE_CHARACTERS = 60
/** Deeper values are neither shown nor corrected. */
const MAX_DEPTH = 64

/** The value as JSON, cut if it is long. */
export function showValue(value: unknown): string {
  if (isTooDeep(value)) return `nested deeper than ${MAX_DEPTH} levels`
  return shorten(JSON.stringify(value) ?? 'nothing', MAX_VALUE_CHARACTERS)
}

export function isTooDeep(value: unknown): boolean {
  return isDeeper(value, MAX_DEPTH)
}
