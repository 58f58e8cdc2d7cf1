/** Counts what the meta-tools of each profile cost an agent: the o200k_base tokens of their definitions. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { toolText } from '../core/tokens.ts'
import { PROFILES } from '../router/meta/profiles/profiles.ts'

/** The content of `router/meta/profiles/definition-tokens.json`, so that gateways need not load the tokenizer. */
export function definitionTokensJson(): string {
  const prices = Object.entries(PROFILES).map(([profile, { tools }]) => {
    const texts = [...tools.values()].map(({ definition }) => toolText(definition))
    return [profile, texts.reduce((sum, text) => sum + countTokens(text), 0)]
  })
  return `${JSON.stringify(Object.fromEntries(prices), null, 2)}\n`
}
