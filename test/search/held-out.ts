/** The servers of the training data that are never trained on (scripts/training), as a labelled set. */
import type { JsonObject } from '../../core/json.ts'
import type { SearchDocument } from '../../router/catalog/search/search-index.ts'
import {
  families,
  heldOutServers,
  type InventedServer,
  type InventedTool,
  inventedServers,
} from '../../scripts/training/invented.ts'
import type { JudgedQuery } from './catalogs.ts'
import type { Judged } from './nothing.ts'

export function heldOutCatalog(): SearchDocument[] {
  return toolsOf(held())
}

/** Of the styles terse, everyday, paraphrase, hard (half of them misspelt) and languages (twelve of them). */
export function heldOutQueries(): JudgedQuery[] {
  return held().flatMap(({ server, tools }) =>
    tools.flatMap(tool =>
      queriesOf(tool).map(([style, query], at) => ({
        id: `${server}:${tool.name}:${at}`,
        query,
        style,
        relevant: [{ server, tool: tool.name, group: 0 }],
      })),
    ),
  )
}

/** Requests to each server that none of its tools serves, though they sound as if one did. */
export function heldOutRequests(): Judged['requests'] {
  const { requests } = families()
  return held().flatMap(({ server, unanswerable }) =>
    unanswerable.map((query, at) => ({ server, query, others: requests[server]?.[at] ?? [] })),
  )
}

/** All that is asked of the servers that are held out. */
export function heldOutJudged(): Judged {
  return { queries: heldOutQueries(), requests: heldOutRequests(), families: families().servers }
}

/** What the search knows kinds of tools from: the servers whose families are not told, and every second one of the others that were trained on. */
export function kindsCatalog(): SearchDocument[] {
  const { told, others } = trainedServers()
  return toolsOf([...others, ...told.filter((_, at) => at % 2 === 0)])
}

/** The rest of those that were trained on. */
export function trainedCatalog(): SearchDocument[] {
  return toolsOf(trainedServers().told.filter((_, at) => at % 2 === 1))
}

/** `told`: those whose families are told. */
function trainedServers(): { told: InventedServer[]; others: InventedServer[] } {
  const names = heldOutServers()
  const { servers } = families()
  const trained = inventedServers().filter(({ server }) => !names.has(server))
  const [told, others] = [true, false].map(is => trained.filter(({ server }) => server in servers === is))
  return { told: told ?? [], others: others ?? [] }
}

function toolsOf(servers: readonly InventedServer[]): SearchDocument[] {
  return servers.flatMap(server => server.tools.map(tool => documentOf(server, tool)))
}

function held(): InventedServer[] {
  const names = heldOutServers()
  return inventedServers().filter(({ server }) => names.has(server))
}

function documentOf({ server, title, description }: InventedServer, tool: InventedTool): SearchDocument {
  const properties: JsonObject = Object.fromEntries(tool.params.map(name => [name, {}]))
  return {
    server,
    serverTitle: title,
    serverDescription: description,
    tool: tool.name,
    description: tool.description,
    inputSchema: { type: 'object', properties },
    keywords: [],
  }
}

function queriesOf({ terse, everyday, paraphrase, more }: InventedTool): [style: string, query: string][] {
  return [
    ['terse', terse],
    ...everyday.map((query): [string, string] => ['everyday', query]),
    ['paraphrase', paraphrase],
    ...(more
      ? ([
          ['everyday', more.question],
          ['paraphrase', more.paraphrase],
          ['hard', more.short],
          ['languages', more.foreign[1]],
        ] as [string, string][])
      : []),
  ]
}
