/** Counts what the meta-tools of each profile cost an agent: the o200k_base tokens of their definitions. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { toolText } from '../core/tokens.ts'
import type { MetaTool } from '../router/meta/meta-tool.ts'
import { PROFILES } from '../router/meta/profiles/profiles.ts'

/** The content of `router/meta/profiles/definition-tokens.json`, so that gateways need not load the tokenizer. */
export function definitionTokensJson(): string {
  const counts = Object.entries(PROFILES).map(([profile, { tools, script }]) => {
    const tokensOf = (metaTools: readonly MetaTool[]) =>
      metaTools.reduce((sum, { definition }) => sum + countTokens(toolText(definition)), 0)
    return [profile, { tools: tokensOf([...tools.values()]), script: tokensOf([script]) }]
  })
  return `${JSON.stringify(Object.fromEntries(counts), null, 2)}\n`
}
