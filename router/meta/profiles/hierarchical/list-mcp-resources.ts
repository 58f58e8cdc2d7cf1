/** The meta-tool that lists resources and resource templates in pages within the token budget. */
import { exposeItem } from '../../../../core/catalog/expose.ts'
import type { JsonObject, JsonValue } from '../../../../core/json.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import type { Catalog } from '../../../catalog/catalog.ts'
import { estimateTokens } from '../../../catalog/estimate.ts'
import { findServer } from '../../calling/targets.ts'
import { CURSOR_WRONG } from '../../finding/search-request.ts'
import { pageOf } from '../../listing/pages.ts'
import { type MetaTool, tokenRoute, type Work } from '../../meta-tool.ts'
import { refuse, textReply } from '../../wording/answers.ts'
import { answerBudget, lineCost } from '../../wording/lines.ts'
import { shorten } from '../../wording/shorten.ts'
import { allEntries, foundEntries, type ResourceEntry } from './resource-entries.ts'

const NOTHING_FITS = 'Probably nothing here fits: say it in other words, or list all without a query.'
const MAX_DESCRIPTION_CHARACTERS = 200
/** Tokens of the JSON around the lines, including the cursor. */
const FRAME_TOKENS = 70

export const listMcpResources: MetaTool = {
  definition: {
    name: 'list_mcp_resources',
    description:
      'List resources (data, documents, pages) and resource templates that read_mcp_resource can read.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Words to find' },
        server: { type: 'string' },
        cursor: { type: 'string', description: 'nextCursor' },
      },
    },
    annotations: { readOnlyHint: true },
  },
  call: list,
}

async function list(work: Work, args: JsonObject): Promise<McpResponse> {
  const { catalog, observer } = work
  const wrong = ['query', 'server', 'cursor'].find(name => typeof (args[name] ?? '') !== 'string')
  if (wrong) return refuse(work, { refusal: `${wrong} is no text: give a string.`, outcome: 'rejected' })
  const { query, server: name } = args as { query?: string | null; server?: string | null }
  const server = name ? findServer(catalog, name) : undefined
  if (server && 'refusal' in server) return refuse(work, server)
  const { entries, fitsNone } = query?.trim()
    ? await foundEntries(work, query, server?.name)
    : { entries: allEntries(catalog, server?.name), fitsNone: false }
  const asked = JSON.stringify([query?.trim() ?? '', server?.name ?? ''])
  const page = pageOfLines(catalog, entries, args.cursor || undefined, asked)
  if (!page) return refuse(work, CURSOR_WRONG)
  const linesOf = (kind: ResourceEntry['kind']) =>
    page.lines.filter(([entry]) => entry.kind === kind).map(([, line]) => line)
  const text = JSON.stringify({
    resources: linesOf('resource'),
    resource_templates: linesOf('template'),
    total_resources: catalog.totals.resources,
    total_templates: catalog.totals.templates,
    nextCursor: page.nextCursor,
    more: fitsNone ? NOTHING_FITS : undefined,
  })
  observer.tokensServed(tokenRoute(work), 'resources', estimateTokens(text))
  return textReply(text)
}

type Lines = { lines: [ResourceEntry, JsonObject][]; nextCursor?: string }

/** The page at a cursor, within the token budget; undefined if the cursor is invalid. `asked`: identifies the request. */
function pageOfLines(
  catalog: Catalog,
  entries: Iterable<ResourceEntry>,
  cursor: unknown,
  asked: string,
): Lines | undefined {
  const room = answerBudget(catalog) - FRAME_TOKENS
  const lines = new Map<ResourceEntry, JsonObject>()
  let tokens = 0
  const page = pageOf(
    entries,
    entry => entry.key,
    cursor,
    entry => {
      const line = lineWithin(entry, room)
      lines.set(entry, line)
      tokens += lineCost(line)
      return tokens <= room
    },
    asked,
  )
  return (
    page && {
      lines: page.items.map(entry => [entry, lines.get(entry) as JsonObject]),
      nextCursor: page.nextCursor,
    }
  )
}

/** The line of an entry; if it is larger than a whole answer may be, only the fields needed to read it. */
function lineWithin(entry: ResourceEntry, room: number): JsonObject {
  const line = lineOf(entry)
  if (lineCost(line) <= room) return line
  const { uri, uriTemplate, name, mimeType, server } = line
  const short = (value: JsonValue | undefined, most: number) =>
    typeof value === 'string' ? shorten(value, Math.floor(most)) : undefined
  return {
    uri: short(uri, room),
    uriTemplate: short(uriTemplate, room),
    name: short(name, room / 4),
    description: '…',
    mimeType: short(mimeType, room / 4),
    server,
    _meta: {},
  }
}

function lineOf({ kind, route }: ResourceEntry): JsonObject {
  const { name, title, description, mimeType, size, annotations, _meta } = exposeItem(
    route.server,
    route.definition,
  )
  return {
    [kind === 'resource' ? 'uri' : 'uriTemplate']: route.shownUri,
    name: typeof name === 'string' ? name : route.uri,
    title,
    description: typeof description === 'string' ? shorten(description, MAX_DESCRIPTION_CHARACTERS) : '',
    mimeType: typeof mimeType === 'string' ? mimeType : '',
    size,
    annotations,
    server: route.server,
    _meta: _meta ?? {},
  }
}
