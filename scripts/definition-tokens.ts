/** What the meta-tools of each profile cost an agent: o200k_base tokens of their definitions, counted by the tokenizer. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { toolText } from '../core/tokens.ts'
import { PROFILES } from '../router/meta/profiles/profiles.ts'

/** As JSON, for `router/meta/profiles/definition-tokens.json`: a gateway sums these and loads no tokenizer. */
export function definitionTokensJson(): string {
  const prices = Object.entries(PROFILES).map(([profile, { tools }]) => {
    const texts = [...tools.values()].map(({ definition }) => toolText(definition))
    return [profile, texts.reduce((sum, text) => sum + countTokens(text), 0)]
  })
  return `${JSON.stringify(Object.fromEntries(prices), null, 2)}\n`
}
