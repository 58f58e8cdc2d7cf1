/** Counts the tokens of the descriptions in `spec.tools.overrides`, each text once. */

import { BoundedMap } from '../../core/bounded-map.ts'
import type { ToolPolicy } from '../../core/catalog/router-config.ts'
import type { CatalogTool } from '../../core/catalog/server-catalog.ts'
import { ownValue } from '../../core/own-value.ts'
import type { McpServer } from '../../crds/server.ts'

const MAX_REMEMBERED = 20_000

export type CountTokens = (texts: readonly string[]) => Promise<number[]>

export class DescriptionTokens {
  readonly #count: CountTokens
  readonly #known = new BoundedMap<number>(MAX_REMEMBERED)

  constructor(count: CountTokens) {
    this.#count = count
  }

  /** o200k_base tokens of every overriding description, by its text. Throws Fault `unavailable`. */
  async of(servers: readonly McpServer[]): Promise<ReadonlyMap<string, number>> {
    const overrides = servers.flatMap(({ spec }) => Object.values(spec.tools.overrides))
    const texts = [...new Set(overrides.flatMap(({ description }) => description ?? []))]
    const fresh = texts.filter(text => this.#known.get(text) === undefined)
    const counts = fresh.length > 0 ? await this.#count(fresh) : []
    const found = new Map(fresh.map((text, at) => [text, counts[at] ?? 0]))
    for (const text of texts) {
      const tokens = found.get(text) ?? this.#known.get(text)
      if (tokens === undefined) continue
      found.set(text, tokens)
      this.#known.set(text, tokens)
    }
    return found
  }
}

/** Tokens of a tool's definition, with the manifest's description if it overrides the server's. */
export function tokensOffered(
  { definition, tokens, descriptionTokens }: CatalogTool,
  { overrides }: ToolPolicy,
  counted: ReadonlyMap<string, number>,
): number {
  const override = ownValue(overrides, definition.name)
  const replacing = override?.description === undefined ? undefined : counted.get(override.description)
  return replacing === undefined ? tokens : tokens - descriptionTokens + replacing
}
