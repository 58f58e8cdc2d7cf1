/** Reads all lists of an upstream: tools first, then resources, templates and prompts. */
import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../async.ts'
import type { CatalogTool, ServerCatalog, ToolDefinition } from '../../catalog/server-catalog.ts'
import { Fault, messageOf } from '../../errors.ts'
import { canonicalJson, isObject, type JsonObject, type JsonValue } from '../../json.ts'
import { toolText } from '../../tokens.ts'
import { METHOD_NOT_FOUND } from '../protocol/error-codes.ts'
import type { Upstream, UpstreamInfo } from '../upstream.ts'
import { checkItems, checkTools, type ItemKey, type ItemWith, MAX_DEPTH, tooDeep } from './check-items.ts'
import { type ListReader, MAX_DISCOVERY_BYTES, readList, rejection } from './read-list.ts'

export type DiscoverOptions = {
  /** metadata.name of the McpServer. */
  server: string
  clock: Clock
  /** o200k_base tokens of each text; see createTokenCounter. */
  countTokens: (texts: readonly string[]) => Promise<number[]>
  /** The last good catalog: replaces lists not read yet or failed, and saves counting unchanged tools. */
  previous?: Previous
}

type WithoutDigest = Omit<ServerCatalog, 'digest'>
type OtherList = 'resources' | 'resourceTemplates' | 'prompts'
type Others = Pick<ServerCatalog, OtherList | 'incomplete'>
type Previous = Others & Pick<ServerCatalog, 'tools'>

/**
 * Yields the catalog as soon as the tools are known, and again if the other lists changed it.
 * Throws a Fault if the upstream cannot be reached or its tools cannot be listed; a failed other list adds an `incomplete` entry.
 */
export async function* discover(
  upstream: Upstream,
  options: DiscoverOptions,
  signal: AbortSignal,
): AsyncGenerator<ServerCatalog> {
  const info = await upstream.connect(signal)
  const reader: ListReader = {
    upstream,
    clock: options.clock,
    budget: { bytes: MAX_DISCOVERY_BYTES },
  }
  const found = { ...describe(options.server, info), ...(await readTools(reader, info, options, signal)) }
  const lists = declaredLists(info.capabilities)
  const first = await withDigest({ ...found, ...previousLists(lists, options.previous) })
  yield first
  if (lists.length === 0) return
  const complete = await withDigest({
    ...found,
    ...(await readOthers(reader, lists, options.previous, signal)),
  })
  if (complete.digest !== first.digest) yield complete
}

function describe(server: string, info: UpstreamInfo) {
  if (tooDeep(info.capabilities) || tooDeep(info.serverInfo))
    throw new Fault(
      'upstream_protocol',
      `The answer to the handshake is nested deeper than ${MAX_DEPTH} levels`,
    )
  return {
    server,
    protocol: info.protocolVersion,
    ...(info.serverInfo ? { serverInfo: info.serverInfo } : {}),
    ...(info.instructions === undefined ? {} : { instructions: info.instructions }),
    capabilities: info.capabilities,
  }
}

/** Lists tools even if the server does not declare them: some servers forget to. */
async function readTools(
  reader: ListReader,
  info: UpstreamInfo,
  options: DiscoverOptions,
  signal: AbortSignal,
) {
  const listed = await readList(reader, 'tools', signal)
  if (listed.error && isObject(info.capabilities.tools)) throw rejection('tools', listed.error)
  const { tools, invalid } = checkTools(listed.items ?? [], info.era)
  if (listed.items && listed.cut)
    invalid.unshift({ reason: `the list of tools was not read to its end: ${listed.cut}` })
  return { tools: await countTools(tools, options), invalid }
}

/** Takes the token counts of unchanged tools from the previous catalog, and counts the others. */
async function countTools(tools: ToolDefinition[], options: DiscoverOptions): Promise<CatalogTool[]> {
  const known = new Map(options.previous?.tools.map(tool => [toolText(tool.definition), tool]))
  const fresh = tools.filter(tool => !known.has(toolText(tool)))
  const counts = await options.countTokens(
    fresh.flatMap(tool => [toolText(tool), tool.description ?? '', JSON.stringify(tool.inputSchema)]),
  )
  const counted = new Map(fresh.map((tool, at) => [tool, counts.slice(3 * at, 3 * at + 3)]))
  return tools.map(definition => {
    const same = known.get(toolText(definition))
    const [tokens = 0, descriptionTokens = 0, schemaTokens = 0] = counted.get(definition) ?? []
    return same ? { ...same, definition } : { definition, tokens, descriptionTokens, schemaTokens }
  })
}

function declaredLists(capabilities: JsonObject): OtherList[] {
  return [
    ...(isObject(capabilities.resources) ? (['resources', 'resourceTemplates'] as const) : []),
    ...(isObject(capabilities.prompts) ? (['prompts'] as const) : []),
  ]
}

function previousLists(lists: OtherList[], previous: Previous | undefined): Others {
  const of = <List extends OtherList>(list: List) => (lists.includes(list) ? (previous?.[list] ?? []) : [])
  return {
    resources: of('resources'),
    resourceTemplates: of('resourceTemplates'),
    prompts: of('prompts'),
    incomplete: previous?.incomplete.filter(({ list }) => lists.includes(list)) ?? [],
  }
}

async function readOthers(
  reader: ListReader,
  lists: OtherList[],
  previous: Previous | undefined,
  signal: AbortSignal,
): Promise<Others> {
  const read = async <Key extends ItemKey>(list: OtherList, key: Key): Promise<OtherRead<Key>> =>
    lists.includes(list) ? readOther(reader, list, key, signal) : { list, items: [] }
  const [resources, resourceTemplates, prompts] = await Promise.all([
    read('resources', 'uri'),
    read('resourceTemplates', 'uriTemplate'),
    read('prompts', 'name'),
  ])
  return {
    resources: resources.items ?? previous?.resources ?? [],
    resourceTemplates: resourceTemplates.items ?? previous?.resourceTemplates ?? [],
    prompts: prompts.items ?? previous?.prompts ?? [],
    incomplete: [resources, resourceTemplates, prompts].flatMap(({ list, message }) =>
      message === undefined ? [] : [{ list, message }],
    ),
  }
}

type OtherRead<Key extends ItemKey> = { list: OtherList; items?: ItemWith<Key>[]; message?: string }

async function readOther<Key extends ItemKey>(
  reader: ListReader,
  list: OtherList,
  key: Key,
  signal: AbortSignal,
): Promise<OtherRead<Key>> {
  try {
    const listed = await readList(reader, list, signal)
    if (listed.items) return { list, ...validItems(listed.items, key, listed.cut) }
    const unsupported = list === 'resourceTemplates' && listed.error.code === METHOD_NOT_FOUND
    return unsupported ? { list, items: [] } : { list, message: rejection(list, listed.error).message }
  } catch (error) {
    if (signal.aborted || !(error instanceof Fault)) throw error
    return { list, message: messageOf(error) }
  }
}

function validItems<Key extends ItemKey>(found: JsonValue[], key: Key, cut: string | undefined) {
  const { items, left, reason } = checkItems(found, key)
  const wrong = left > 0 ? `${left} of ${found.length} left out: ${reason}` : undefined
  return { items, message: [cut, wrong].filter(text => text !== undefined).join('; ') || undefined }
}

/** Yields to the event loop first: hashing takes a while, and many servers may be discovered at once. */
async function withDigest(catalog: WithoutDigest): Promise<ServerCatalog> {
  await nextTurn()
  return { ...catalog, digest: hash('sha256', canonicalJson(catalog), 'hex') }
}
