/**
 * Prints what the sentence encoder is trained on, a line of JSON per tool: its texts as discovery builds them, and its queries.
 * `node scripts/training/texts.ts [CATALOGS]`: with the folder of the public catalogs, the queries for their tools are printed too.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { toolSearchText } from '../../core/catalog/search-text.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'

type Queries = { terse: string; everyday: string[]; paraphrase: string }
type InventedTool = Queries & { name: string; description: string; params: string[] }
type InventedServer = { server: string; title?: string; description?: string; tools: InventedTool[] }
type PublicQueries = Queries & { set: string; server: string; tool: string }
type MoreQueries = {
  server: string
  tool: string
  question: string
  paraphrase: string
  short: string
  foreign: [language: string, text: string]
}
type PublicTool = {
  server: string
  tool: string
  description?: string
  serverTitle?: string
  serverDescription?: string
}
type Tool = { server: string; title?: string; about?: string; tool: string; description?: string }

const DATA = join(import.meta.dirname, 'data')
const EMPTY = {} as ServerCatalog

function print(kind: 'invented' | 'public', tool: Tool, queries: string[]): void {
  const tools = { allow: ['*'], deny: [], overrides: {} }
  const { server: name, title, about: description } = tool
  const item = { name: tool.tool, description: tool.description, inputSchema: {} }
  const { full, name: named } = toolSearchText({ name, title, description, keywords: [], tools }, EMPTY, item)
  const line = { kind, server: name, tool: tool.tool, full, name: named, queries }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

function invented(): void {
  const more = moreQueries()
  for (const { server, title, description: about, tools } of linesOf<InventedServer>(
    join(DATA, 'invented.jsonl'),
  ))
    for (const tool of tools)
      print('invented', { server, title, about, tool: tool.name, description: tool.description }, [
        ...queriesOf(tool),
        ...(more.get(`${server} ${tool.name}`) ?? []),
      ])
}

function moreQueries(): Map<string, string[]> {
  const files = readdirSync(DATA).filter(file => file.startsWith('more-'))
  return new Map(
    files
      .flatMap(file => linesOf<MoreQueries>(join(DATA, file)))
      .map(({ server, tool, question, paraphrase, short, foreign }) => [
        `${server} ${tool}`,
        [question, paraphrase, short, foreign[1]],
      ]),
  )
}

function published(catalogs: string): void {
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

function linesOf<T>(path: string): T[] {
  const text = readFileSync(path, 'utf8').trimEnd().split('\n')
  return text.map(line => JSON.parse(line) as T)
}

invented()
const [catalogs] = process.argv.slice(2)
if (catalogs !== undefined) {
  if (!existsSync(catalogs)) throw new Error(`there is no folder ${catalogs}`)
  published(catalogs)
}
