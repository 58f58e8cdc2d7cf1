/** What a profile calls its own tools: with it the sentences that all profiles share tell agents what to do next. Pure. */
import type { JsonObject } from '../../../core/json.ts'
import type { Handle } from '../results/handle.ts'

/** A request as agents of a profile make it: a call of a meta-tool, or a method of the protocol without a tool. */
export type NamedCall = { name: string; args: JsonObject }

export type ProfileWords = {
  /** How to use the profile, a part of a sentence in the gateway's instructions. */
  usage: string
  /** How to look for another tool, a part of a sentence: "search with discover". */
  finding: string
  /** Which names to give where several tools share one: a sentence. */
  wholeName: string
  /** Whether tools are shown by their own names, with their server beside it. */
  showsOwnNames: boolean
  /** Searches for a tool; absent where every tool is listed. */
  search?(query: string): NamedCall
  /** Gets the whole schema of a tool by its path. */
  schema(path: string): NamedCall
  /** Reads on in a result that was cut. */
  readOn(handle: Handle): NamedCall
}

/** As a sentence says it: `discover_mcp_tools with query "github:create_issue"`. */
export function spelled({ name, args }: NamedCall): string {
  const given = Object.entries(args).map(([key, value]) => `${key} ${JSON.stringify(value)}`)
  return given.length === 0 ? name : `${name} with ${given.join(' and ')}`
}

/** A part of a sentence as a sentence of its own. */
export function sentenceOf(part: string): string {
  return `${part.charAt(0).toUpperCase()}${part.slice(1)}.`
}
