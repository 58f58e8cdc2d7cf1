/** The type of a profile: its meta-tools and its answer to tools/list. */
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import { type MetaTool, tokenRoute, type Work } from '../meta-tool.ts'
import type { ProfileWords } from '../wording/profile-words.ts'

export type ProfileTools = {
  /** By name, in the order in which they are listed. */
  tools: ReadonlyMap<string, MetaTool>
  /** o200k_base tokens of the meta-tools' definitions as listed, from definition-tokens.json. */
  definitionTokens: number
  words: ProfileWords
  /** Answers tools/list. */
  list(work: Work): McpResponse
}

/** A profile with only meta-tools: its list is the same for everyone and serialized once. */
export function metaToolProfile(
  tools: readonly MetaTool[],
  { definitionTokens, words }: Pick<ProfileTools, 'definitionTokens' | 'words'>,
): ProfileTools {
  const result = { tools: tools.map(tool => tool.definition) }
  const reply: McpResponse = { result, resultText: JSON.stringify(result) }
  return {
    tools: byName(tools),
    definitionTokens,
    words,
    list(work) {
      countList(work, work.catalog.totals.tokens, definitionTokens)
      return reply
    },
  }
}

export function byName(tools: readonly MetaTool[]): ReadonlyMap<string, MetaTool> {
  return new Map(tools.map(tool => [tool.definition.name, tool]))
}

/** Counts the tokens of a list, and those of listing all tools directly. */
export function countList(work: Work, directTokens: number, listedTokens: number): void {
  work.observer.tokensDirect(tokenRoute(work), directTokens)
  work.observer.tokensServed(tokenRoute(work), 'definitions', listedTokens)
}
