/** Counts what the meta-tools of each profile cost an agent: the o200k_base tokens of their definitions. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { toolText } from '../core/tokens.ts'
import type { MetaTool } from '../router/meta/meta-tool.ts'
import { PROFILES } from '../router/meta/profiles/profiles.ts'

/** The content of `router/meta/profiles/definition-tokens.json`, so that gateways need not load the tokenizer. */
export function definitionTokensJson(): string {
  const prices = Object.entries(PROFILES).map(([profile, { tools, script }]) => {
    const priceOf = (own: readonly MetaTool[]) =>
      own.reduce((sum, { definition }) => sum + countTokens(toolText(definition)), 0)
    return [profile, { tools: priceOf([...tools.values()]), script: priceOf([script]) }]
  })
  return `${JSON.stringify(Object.fromEntries(prices), null, 2)}\n`
}
