/**
 * Prints the training examples of the sentence encoder, one line of JSON for each tool: its texts as discovery builds them, and its queries;
 * those in other languages as the search translates them.
 * `node scripts/training/texts.ts [CATALOGS]`: with the folder of the public catalogs, it also prints those for their tools.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { toolSearchText } from '../../core/catalog/search-text.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { prepareTranslators } from '../../router/catalog/search/translate-query.ts'
import { DATA, inventedServers, linesOf, type Queries } from './invented.ts'

type PublicQueries = Queries & { set: string; server: string; tool: string }
type PublicTool = {
  server: string
  tool: string
  description?: string
  serverTitle?: string
  serverDescription?: string
}
type Tool = { server: string; title?: string; about?: string; tool: string; description?: string }

const EMPTY = {} as ServerCatalog
const translate = prepareTranslators()(() => false)

/** Prints the line of one tool. */
function print(kind: 'invented' | 'public', tool: Tool, queries: string[]): void {
  const tools = { allow: ['*'], deny: [], overrides: {} }
  const { server: name, title, about: description } = tool
  const item = { name: tool.tool, description: tool.description, inputSchema: {} }
  const { full, name: named } = toolSearchText({ name, title, description, keywords: [], tools }, EMPTY, item)
  const asEncoded = queries.map(query => translate(query)?.text ?? query)
  const line = { kind, server: name, tool: tool.tool, full, name: named, queries: asEncoded }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

function printInvented(): void {
  for (const { server, title, description: about, tools } of inventedServers())
    for (const { name, description, more, ...queries } of tools) {
      const others = more ? [more.question, more.paraphrase, more.short, more.foreign[1]] : []
      print('invented', { server, title, about, tool: name, description }, [...queriesOf(queries), ...others])
    }
}

function printPublic(catalogs: string): void {
  const files = new Map<string, Map<string, PublicTool>>()
  for (const { set, server, tool, ...queries } of linesOf<PublicQueries>(join(DATA, 'public.jsonl'))) {
    if (!files.has(set)) {
      const known = linesOf<PublicTool>(join(catalogs, set, 'catalog.jsonl'))
      files.set(set, new Map(known.map(one => [`${one.server} ${one.tool}`, one])))
    }
    const found = files.get(set)?.get(`${server} ${tool}`)
    if (!found) throw new Error(`${set} has no tool ${server}:${tool}`)
    const { serverTitle: title, serverDescription: about, description } = found
    print('public', { server, title, about, tool, description }, queriesOf(queries))
  }
}

function queriesOf({ terse, everyday, paraphrase }: Queries): string[] {
  return [terse, ...everyday, paraphrase]
}

printInvented()
const [catalogs] = process.argv.slice(2)
if (catalogs !== undefined) {
  if (!existsSync(catalogs)) throw new Error(`there is no folder ${catalogs}`)
  printPublic(catalogs)
}
