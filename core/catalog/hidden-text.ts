/** Finds text of a server that hides characters: in its tools, and in its instructions. Pure. */
import { firstHidden, reveal } from '../hidden-characters.ts'
import type { JsonValue } from '../json.ts'
import type { ServerCatalog, ToolDefinition } from './server-catalog.ts'

/** How many places are reported; the others are only counted. */
const MAX_REPORTED = 10
const MAX_NAME_CHARACTERS = 80

export type HiddenText = {
  /** Sentences such as `tool "read": U+202E right-to-left override`; at most ten. */
  findings: string[]
  /** Number of tools and other texts with hidden characters, including those that are not reported. */
  count: number
}

/** Looks through all strings of tools: names, descriptions, schemas. Undefined if none hides anything. */
export function hiddenTextOf(
  tools: readonly ToolDefinition[],
  instructions?: string,
): HiddenText | undefined {
  const findings: string[] = []
  let count = 0
  const look = (place: () => string, value: JsonValue | undefined) => {
    const hidden = findHidden(value)
    if (hidden === undefined) return
    count++
    if (findings.length < MAX_REPORTED) findings.push(`${place()}: ${hidden}`)
  }
  look(() => 'instructions', instructions)
  for (const tool of tools) look(() => `tool "${shownName(tool.name)}"`, tool)
  return count === 0 ? undefined : { findings, count }
}

/** Looks through a server's tools and its instructions. */
export function hiddenTextIn({ tools, instructions }: ServerCatalog): HiddenText | undefined {
  return hiddenTextOf(
    tools.map(({ definition }) => definition),
    instructions,
  )
}

/** One line: where characters are hidden, and which. */
export function hiddenTextLine({ findings, count }: HiddenText): string {
  const more = count - findings.length
  return [...findings, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

/** A name from outside, made safe to show: cut, on one line, and with its hidden characters visible. */
export function shownName(name: string): string {
  return reveal(name.slice(0, MAX_NAME_CHARACTERS)).replace(/\s+/g, ' ')
}

/** Describes the first hidden characters in a value's strings and keys, at any depth, since discovery limits depth and size. Undefined: none. */
export function findHidden(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return firstHidden(value)
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const hidden = firstHidden(key) ?? findHidden(inner)
    if (hidden !== undefined) return hidden
  }
  return undefined
}
