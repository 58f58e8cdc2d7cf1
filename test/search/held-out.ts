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

/** All queries and requests for the held-out servers, with the families of servers. */
export function heldOutJudged(): Judged {
  return { queries: heldOutQueries(), requests: heldOutRequests(), families: families().servers }
}

/** The servers from which the search learns kinds of tools: every second one of `trainedServers`, and those without families. */
export function kindsCatalog(): SearchDocument[] {
  const { withFamilies, others } = trainedServers()
  return toolsOf([...others, ...withFamilies.filter((_, at) => at % 2 === 0)])
}

/** The servers that were trained on and are not among those of `kindsCatalog`. */
export function trainedCatalog(): SearchDocument[] {
  return toolsOf(trainedServers().withFamilies.filter((_, at) => at % 2 === 1))
}

/** Those that the encoder was trained on; `withFamilies`: those that families.json lists. */
function trainedServers(): { withFamilies: InventedServer[]; others: InventedServer[] } {
  const heldOut = heldOutServers()
  const { servers: known } = families()
  const trained = inventedServers().filter(({ server }) => !heldOut.has(server))
  return {
    withFamilies: trained.filter(({ server }) => server in known),
    others: trained.filter(({ server }) => !(server in known)),
  }
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
