/** The meta-tool that lists resources and resource templates, a page within the token budget at a time. */
import { exposeItem } from '../../../core/catalog/expose.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { McpReply } from '../../../core/mcp/front/handler.ts'
import { type Catalog, isShown } from '../../catalog/catalog.ts'
import { estimateTokens } from '../../catalog/estimate.ts'
import type { ResourceRoute } from '../../catalog/server-part.ts'
import { refuse, textReply } from '../answers.ts'
import { type MetaTool, tokenRoute, type Work } from '../meta-tool.ts'
import { pageOf } from '../pages.ts'
import { shorten } from '../shorten.ts'
import { findServer } from '../targets.ts'

const LONGEST_DESCRIPTION = 200

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
        cursor: { type: 'string', description: 'nextCursor of the page before' },
      },
    },
    annotations: { readOnlyHint: true },
  },
  call: list,
}

/** A resource or template with its line, under a key that sorts resources before templates. */
type Entry = { key: string; kind: 'resource' | 'template'; route: ResourceRoute }

function list(work: Work, args: JsonObject): McpReply {
  const { catalog, observer } = work
  const wrong = ['query', 'server', 'cursor'].find(name => typeof (args[name] ?? '') !== 'string')
  if (wrong) return refuse(work, { refusal: `${wrong} is no text: give a string.`, outcome: 'rejected' })
  const { query, server: name } = args as { query?: string | null; server?: string | null }
  const server = name ? findServer(catalog, name) : undefined
  if (server && 'refusal' in server) return refuse(work, server)
  const entries = entriesOf(catalog, server?.name, wordsOf(query ?? ''))
  const budget = catalog.config.budget.responseTokens
  const lines = new Map<Entry, JsonObject>()
  let tokens = 0
  const page = pageOf(
    entries,
    entry => entry.key,
    args.cursor || undefined,
    entry => {
      const line = lineOf(entry)
      lines.set(entry, line)
      tokens += estimateTokens(JSON.stringify(line))
      return tokens <= budget
    },
  )
  if (!page)
    return refuse(work, { refusal: 'cursor is not valid: begin again without it.', outcome: 'rejected' })
  const linesOf = (kind: Entry['kind']) =>
    page.items.filter(entry => entry.kind === kind).map(entry => lines.get(entry))
  const text = JSON.stringify({
    resources: linesOf('resource'),
    resource_templates: linesOf('template'),
    total_resources: catalog.totals.resources,
    total_templates: catalog.totals.templates,
    nextCursor: page.nextCursor,
  })
  observer.tokensServed(tokenRoute(work), 'resources', estimateTokens(text))
  return textReply(text)
}

function* entriesOf(
  catalog: Catalog,
  server: string | undefined,
  words: readonly string[],
): Generator<Entry> {
  for (const kind of ['resource', 'template'] as const)
    for (const route of kind === 'resource' ? catalog.resources : catalog.templates)
      if (
        (server === undefined || route.server === server) &&
        isShown(catalog, route.server) &&
        matches(route, words)
      )
        yield { key: `${kind} ${route.shownUri}`, kind, route }
}

function wordsOf(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter(Boolean)
}

function matches({ shownUri, definition }: ResourceRoute, words: readonly string[]): boolean {
  if (words.length === 0) return true
  const text = `${shownUri} ${definition.name} ${definition.title} ${definition.description}`.toLowerCase()
  return words.every(word => text.includes(word))
}

function lineOf({ kind, route }: Entry): JsonObject {
  const { name, title, description, mimeType, size, annotations, _meta } = exposeItem(
    route.server,
    route.definition,
  )
  return {
    [kind === 'resource' ? 'uri' : 'uriTemplate']: route.shownUri,
    name: typeof name === 'string' ? name : route.uri,
    title,
    description: typeof description === 'string' ? shorten(description, LONGEST_DESCRIPTION) : '',
    mimeType: typeof mimeType === 'string' ? mimeType : '',
    size,
    annotations,
    server: route.server,
    _meta: _meta ?? {},
  }
}
