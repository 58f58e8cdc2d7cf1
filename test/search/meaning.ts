/** The search with the model, as the router does it: texts and queries through the encoder's own thread. */
import { join } from 'node:path'
import { itemSearchText, type SearchText, toolSearchText } from '../../core/catalog/search-text.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import type { Vector } from '../../core/catalog/vectors.ts'
import { prepareDots } from '../../core/encoder/dots.ts'
import { createEmbeddedEncoder } from '../../core/encoder/embedded.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import { cacheFolder } from '../../local/config.ts'
import type { SearchDocument, SearchIndex } from '../../router/catalog/search/search-index.ts'
import { createVectorTable } from '../../router/catalog/search/vectors.ts'
import { testModelFile } from '../support/model.ts'

/** With a cache beside the product's own, so that only the first run takes minutes. Throws where there is no model. */
export async function openEncoder(): Promise<SentenceEncoder> {
  const encoder = await createEmbeddedEncoder({
    modelFile: testModelFile(),
    cacheFile: join(cacheFolder(process.env), 'vectors', 'tests.bin'),
    unavailable: reason => {
      throw new Error(reason)
    },
  })
  return encoder as SentenceEncoder
}

/** The same index, asked by meaning too; the vectors of all queries that it will be asked are made first. */
export async function withMeaning(
  index: SearchIndex,
  queries: readonly string[],
  encoder: SentenceEncoder,
  signal: AbortSignal,
): Promise<SearchIndex> {
  const documents = createVectorTable(
    await encoder.encodeTexts(index.documents.map(textOf), signal),
    prepareDots(),
  )
  const vectors = new Map<string, Vector>()
  for (const query of new Set(queries))
    vectors.set(query, await encoder.encodeQuery(index.queryText(query), signal))
  const meaningOf = (query: string) => ({ query: vectors.get(query) as Vector, documents })
  return {
    ...index,
    search: (query, options) => index.search(query, { ...options, meaning: meaningOf(query) }),
    explain: (query, options) => index.explain(query, { ...options, meaning: meaningOf(query) }),
  }
}

/** As the discoverer makes it of the manifest and the list. */
export function textOf(document: SearchDocument): SearchText {
  const { server: name, serverTitle: title, serverDescription: description, keywords } = document
  const overrides = keywords.length > 0 ? { [document.tool]: { keywords } } : {}
  const tools = { allow: ['*'], deny: [], overrides }
  const server = { name, title, description, keywords: document.serverKeywords ?? [], tools }
  const catalog = { instructions: document.instructions } as ServerCatalog
  const item = { name: document.tool, title: document.title, description: document.description }
  if (document.kind === undefined) return toolSearchText(server, catalog, { ...item, inputSchema: {} })
  const field = document.kind === 'template' ? 'uriTemplate' : 'uri'
  return itemSearchText(server, catalog, { ...item, [field]: document.uri })
}
