/** How a profile names its own tools, so that shared sentences tell agents which one to use next. Pure. */
import type { JsonObject } from '../../../core/json.ts'
import type { Handle } from '../results/handle.ts'

/** A request as agents of a profile make it: a call of a meta-tool, or a protocol method that needs no tool. */
export type NamedCall = { name: string; args: JsonObject }

export type ProfileWords = {
  /** How to use the profile, as part of a sentence in the gateway's instructions. */
  usage: string
  /** How to look for another tool, as part of a sentence: "search with discover". */
  finding: string
  /** A sentence that asks for an unambiguous name if several tools share one. */
  wholeName: string
  /** Whether tools are shown by their own names, with their server beside it. */
  showsOwnNames: boolean
  /** How to search for a tool; absent if every tool is listed. */
  search?(query: string): NamedCall
  /** How to get the whole schema of a tool by its path. */
  schema(path: string): NamedCall
  /** How to read the next part of a cut result. */
  readOn(handle: Handle): NamedCall
}

/** The call as a sentence names it: `discover_mcp_tools with query "github:create_issue"`. */
export function spelled({ name, args }: NamedCall): string {
  const given = Object.entries(args).map(([key, value]) => `${key} ${JSON.stringify(value)}`)
  return given.length === 0 ? name : `${name} with ${given.join(' and ')}`
}

/** Turns part of a sentence into a sentence of its own. */
export function sentenceOf(part: string): string {
  return `${part.charAt(0).toUpperCase()}${part.slice(1)}.`
}
