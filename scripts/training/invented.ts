/** The invented servers of the training data: their tools with queries for them, and which servers are never trained on. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The queries that every tool of the training data has. */
export type Queries = { terse: string; everyday: string[]; paraphrase: string }
type MoreQueries = {
  question: string
  paraphrase: string
  /** Half of them are misspelt. */
  short: string
  foreign: [language: string, text: string]
}
export type InventedTool = Queries & {
  name: string
  description: string
  params: string[]
  more?: MoreQueries
}
export type InventedServer = {
  server: string
  title: string
  description: string
  tools: InventedTool[]
  unanswerable: string[]
}

export const DATA = join(import.meta.dirname, 'data')

/** All invented servers. The queries of the files `more-*` are added to their tools. */
export function inventedServers(): InventedServer[] {
  const more = moreQueries()
  return filesOf('invented').flatMap(file =>
    linesOf<InventedServer>(file).map(server => ({
      ...server,
      tools: server.tools.map(tool => ({
        ...tool,
        more: tool.more ?? more.get(`${server.server} ${tool.name}`),
      })),
    })),
  )
}

/** Names of the invented servers whose tools are never trained on. */
export function heldOutServers(): Set<string> {
  const heldOut = JSON.parse(readFileSync(join(DATA, 'held-out.json'), 'utf8')) as { invented: string[] }
  return new Set(heldOut.invented)
}

/** Families of servers that may serve the same requests; written by hand. */
type Families = {
  servers: Record<string, string[]>
  /** By server, for each of its requests that none of its tools serves: the families that may serve it. */
  requests: Record<string, string[][]>
}

/** Reads `families.json`. */
export function families(): Families {
  return JSON.parse(readFileSync(join(DATA, 'families.json'), 'utf8')) as Families
}

/** Reads a file with one JSON value per line. */
export function linesOf<T>(path: string): T[] {
  const text = readFileSync(path, 'utf8').trimEnd().split('\n')
  return text.map(line => JSON.parse(line) as T)
}

/** Paths of the data files whose names start with `prefix`, sorted. */
function filesOf(prefix: string): string[] {
  const files = readdirSync(DATA).filter(file => file.startsWith(prefix))
  return files.sort().map(file => join(DATA, file))
}

function moreQueries(): Map<string, MoreQueries> {
  type Line = MoreQueries & { server: string; tool: string }
  const lines = filesOf('more-').flatMap(file => linesOf<Line>(file))
  return new Map(lines.map(({ server, tool, ...queries }) => [`${server} ${tool}`, queries]))
}
