/** The type of a profile: its meta-tools and its answer to tools/list. */
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { type MetaTool, tokenRoute, type Work } from '../meta-tool.ts'
import type { ProfileWords } from '../wording/profile-words.ts'

export type ProfileTools = {
  /** By name, in the order in which they are listed. */
  tools: ReadonlyMap<string, MetaTool>
  /** The meta-tool that runs scripts; it is listed only if the gateway runs scripts. */
  script: MetaTool
  /** o200k_base tokens of the meta-tools' definitions as listed, and of that of `script`, from definition-tokens.json. */
  prices: { tools: number; script: number }
  words: ProfileWords
  /** Answers tools/list. */
  list(work: Work): McpResponse
}

/** Creates a profile that lists only meta-tools: the list is the same for all callers of a gateway, and is serialized once. */
export function metaToolProfile(
  tools: readonly MetaTool[],
  given: Pick<ProfileTools, 'script' | 'prices' | 'words'>,
): ProfileTools {
  const [plain, withScript] = [listOf(tools), listOf([...tools, given.script])]
  const withReadOnlyScript = listOf([...tools, readOnlyScript(given.script)])
  return {
    ...given,
    tools: byName(tools),
    list(work) {
      countList(work, work.catalog.totals.tokens, definitionTokens(work.catalog, given))
      const { code } = work.catalog.config
      if (!code) return plain
      return code.tools.readOnly ? withReadOnlyScript : withScript
    },
  }
}

function listOf(tools: readonly MetaTool[]): McpResponse {
  const result = { tools: tools.map(tool => tool.definition) }
  return { result, resultText: JSON.stringify(result) }
}

/** The meta-tool that runs scripts as it is listed; undefined if there are none. */
export function listedScript({ config: { code } }: Catalog, script: MetaTool): MetaTool | undefined {
  return code?.tools.readOnly ? readOnlyScript(script) : code && script
}

/** The script meta-tool of a gateway whose scripts may call only read-only tools. */
function readOnlyScript(script: MetaTool): MetaTool {
  const definition = { ...script.definition, annotations: { readOnlyHint: true } } as MetaTool['definition']
  return { ...script, definition }
}

/** Whether the gateway runs scripts. */
export function runsScripts({ config }: Catalog): boolean {
  return config.code !== undefined
}

/** Tokens of the definitions of all listed meta-tools. */
export function definitionTokens(catalog: Catalog, { prices }: Pick<ProfileTools, 'prices'>): number {
  return prices.tools + (runsScripts(catalog) ? prices.script : 0)
}

/** The meta-tool with this name, if the profile has it at this gateway. */
export function metaToolNamed(
  catalog: Catalog,
  { tools, script }: ProfileTools,
  name: string,
): MetaTool | undefined {
  return tools.get(name) ?? (runsScripts(catalog) && name === script.definition.name ? script : undefined)
}

/** The meta-tools by their names. */
export function byName(tools: readonly MetaTool[]): ReadonlyMap<string, MetaTool> {
  return new Map(tools.map(tool => [tool.definition.name, tool]))
}

/** Counts the tokens of a list, and those of listing all tools directly. */
export function countList(work: Work, directTokens: number, listedTokens: number): void {
  work.observer.tokensDirect(tokenRoute(work), directTokens)
  work.observer.tokensServed(tokenRoute(work), 'definitions', listedTokens)
}
