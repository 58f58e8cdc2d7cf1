/** Catalogs and labelled queries for the search tests: the project's own, and recorded ones if they are beside the project. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { JsonObject } from '../../core/json.ts'
import type { SearchDocument } from '../../router/catalog/search/search-index.ts'

export type JudgedQuery = {
  id: string
  query: string
  style?: string
  /** A group is one needed tool; any of its members satisfies it. */
  relevant: { server: string; tool: string; group: number }[]
}

type CatalogLine = Omit<SearchDocument, 'keywords'> & { keywords?: string[] }

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const shared = join(root, '..', 'shared', 'data')
const own = join(root, 'test', 'search', 'data')

/** The tools of 42 public servers as they were recorded. Undefined where the recordings are not there. */
export function recordedCatalog(): SearchDocument[] | undefined {
  const folder = join(shared, 'catalogs')
  if (!existsSync(folder)) return undefined
  return readdirSync(folder)
    .filter(file => file.endsWith('.json'))
    .sort()
    .flatMap(file => toolsOf(join(folder, file)).map(tool => documentOf(file.replace(/\.json$/, ''), tool)))
}

export function ownCatalog(): SearchDocument[] {
  return readLines<CatalogLine>(join(own, 'catalog.jsonl')).map(withKeywords)
}

export function ownQueries(): JudgedQuery[] {
  return readLines<JudgedQuery>(join(own, 'queries.jsonl'))
}

/** What kinds of things the servers of the project's own catalog do; assigned by hand. */
export function ownFamilies(): Record<string, string[]> {
  return JSON.parse(readFileSync(join(own, 'families.json'), 'utf8')) as Record<string, string[]>
}

/** Resources, templates and prompts of the servers of the project's own catalog. */
export function ownExtras(): SearchDocument[] {
  return readLines<CatalogLine>(join(own, 'extras.jsonl')).map(withKeywords)
}

export function extraQueries(): JudgedQuery[] {
  return readLines<JudgedQuery>(join(own, 'extra-queries.jsonl'))
}

/** Our own queries for the recorded catalog. */
export function recordedQueries(): JudgedQuery[] {
  return readLines<JudgedQuery>(join(own, 'recorded-queries.jsonl'))
}

/** One labelled set beside the project. Undefined where it is not there. */
export function labelledSet(
  set: string,
  queries: string,
): { documents: SearchDocument[]; queries: JudgedQuery[] } | undefined {
  const folder = join(shared, 'retrieval', set)
  if (!existsSync(folder)) return undefined
  return {
    documents: readLines<CatalogLine>(join(folder, 'catalog.jsonl')).map(withKeywords),
    queries: readLines<JudgedQuery>(join(folder, `${queries}.jsonl`)),
  }
}

/** Copies of a catalog under other server names, until there are `count` tools. */
export function manyTools(documents: readonly SearchDocument[], count: number): SearchDocument[] {
  return Array.from({ length: count }, (_, at) => {
    const document = documents[at % documents.length] as SearchDocument
    const copy = Math.floor(at / documents.length)
    return copy === 0 ? document : { ...document, server: `${document.server}-${copy}` }
  })
}

type RecordedTool = { name: string; title?: string; description?: string; inputSchema?: JsonObject }

function toolsOf(path: string): RecordedTool[] {
  const recorded = JSON.parse(readFileSync(path, 'utf8')) as RecordedTool[] | { tools: RecordedTool[] }
  return Array.isArray(recorded) ? recorded : recorded.tools
}

function documentOf(server: string, tool: RecordedTool): SearchDocument {
  const { name, title, description, inputSchema } = tool
  return { server, tool: name, title, description, inputSchema, keywords: [] }
}

function withKeywords(line: CatalogLine): SearchDocument {
  return { ...line, keywords: line.keywords ?? [] }
}

function readLines<T>(path: string): T[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as T)
}
