/** The meta-tool that loads tools: into the list of the session, if there is one, and their definitions into the answer. */
import type { JsonObject, JsonValue } from '../../../../core/json.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import { isShown } from '../../../catalog/catalog.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import { findCalled, nearlyTool } from '../../calling/find-called.ts'
import { LIST_CHANGED } from '../../listing/list-changes.ts'
import { listedTokens } from '../../listing/listed-definition.ts'
import { type MetaTool, tellCaller, type Work } from '../../meta-tool.ts'
import { findPart } from '../../schemas/part-of-tool.ts'
import { type Refusal, refuse, schemaReply } from '../../wording/answers.ts'
import { answerBudget, fitLines, fitNames } from '../../wording/lines.ts'
import { quote } from '../../wording/sentences.ts'
import { shorten } from '../../wording/shorten.ts'
import prices from '../definition-tokens.json' with { type: 'json' }
import { definitionTokens } from '../profile.ts'
import { composeDefinitions } from './definitions.ts'
import { type Loading, load } from './loading.ts'

const MAX_TOOLS = 50
/** How many unknown names get suggestions, which take time. */
const MAX_EXPLAINED = 3
/** Limit for repeating a name that was not loaded. */
const MAX_NAME_CHARACTERS = 100
/** Shares of the budget: for tools that were not loaded; for the names of loaded tools, and as much for those of evicted ones. */
const NOT_LOADED_SHARE = 0.3
const NAMES_SHARE = 0.15

export const activate: MetaTool = {
  definition: {
    name: 'activate',
    description:
      'Load tools by their names from discover: answers their definitions, and lists them as tools of their own (server__tool) for this session. The least recently used make room.',
    inputSchema: {
      type: 'object',
      properties: { tools: { type: 'array', items: { type: 'string' } } },
      required: ['tools'],
    },
  },
  call,
}

/** The visible tools that the client has activated, least recently used first. */
export function activeTools({ activated, catalog, request }: Work): ToolRoute[] {
  return activated
    .of(request.caller.client)
    .map(path => catalog.toolByName.get(path))
    .filter(tool => tool !== undefined)
    .filter(tool => isShown(catalog, tool.server))
}

/** Activated tools that are not visible at the moment, as many as there is room for besides the visible ones: their server may come back. */
function unseenPaths(
  { activated, catalog, request }: Work,
  seen: readonly ToolRoute[],
  active: number,
): string[] {
  const visible = new Set(seen.map(pathOf))
  const unseen = activated.of(request.caller.client).filter(path => !visible.has(path))
  const room = Math.max(0, catalog.config.budget.activeTools - active)
  return unseen.slice(Math.max(0, unseen.length - room))
}

function call(work: Work, args: JsonObject): McpResponse {
  const { catalog, request, activated } = work
  const names = readNames(args.tools)
  if (!names)
    return refuse(work, {
      refusal: `tools is missing: an array of 1 to ${MAX_TOOLS} names as discover gives them, such as ["server:tool"].`,
      outcome: 'rejected',
    })
  const { wanted, parts, failed } = findTools(work, names)
  const before = activeTools(work)
  const { budget } = catalog.config
  const loading = load(before, wanted, {
    ...budget,
    metaTokens: definitionTokens(catalog, { prices: prices.registry }),
    tokensOf: listedTokens,
  })
  const [first] = [...failed, ...loading.refused.map(tool => overBudget(work, tool))]
  const isRefused = first !== undefined && loading.loaded.length + parts.length === 0
  for (const { refusal } of isRefused ? failed.slice(1) : failed)
    if (refusal.asked) work.observer.missed(work, refusal.asked)
  if (isRefused) return refuse(work, first.refusal)
  if (request.caller.client !== undefined) {
    const active = loading.active.map(pathOf)
    activated.keep(request.caller.client, [...unseenPaths(work, before, active.length), ...active])
    if (isChanged(before, loading.active)) tellCaller(work, LIST_CHANGED)
  }
  const { text, frameTokens, schemaTokens } = compose(work, loading, parts, failed)
  return schemaReply(work, text, frameTokens, schemaTokens)
}

/** One name, an array, or several separated by commas; undefined if there is none, or too many. */
function readNames(tools: JsonValue | undefined): string[] | undefined {
  const given = typeof tools === 'string' ? tools.split(',') : tools
  if (!Array.isArray(given) || !given.every(name => typeof name === 'string')) return undefined
  const names = given.map(name => name.trim()).filter(name => name !== '')
  return names.length > 0 && names.length <= MAX_TOOLS ? names : undefined
}

type Failed = { tool: string; refusal: Refusal }

type FoundTools = {
  wanted: ToolRoute[]
  /** For names such as `server:tool#/properties/filter`: tools with that part as their schema, shown but not loaded. */
  parts: ToolRoute[]
  failed: Failed[]
}

function findTools(work: Work, names: readonly string[]): FoundTools {
  const found: FoundTools = { wanted: [], parts: [], failed: [] }
  for (const name of names) {
    const part = findPart(work, name)
    const tool = part ?? findTool(work, name, found.failed.length < MAX_EXPLAINED)
    if ('refusal' in tool) found.failed.push({ tool: name, refusal: tool })
    else if (!part) found.wanted.push(tool)
    else found.parts.push({ ...tool, listedName: name, tokens: tool.descriptionTokens + tool.schemaTokens })
  }
  return found
}

/** `explains`: whether to suggest tools for an unknown name. */
function findTool(work: Work, name: string, explains: boolean): ToolRoute | Refusal {
  if (!explains && !isKnown(work, name))
    return { refusal: 'There is no such tool.', outcome: 'rejected', asked: { kind: 'name', text: name } }
  const called = findCalled(work, name)
  if ('refusal' in called) return called
  const { target } = called
  if ('tool' in target) return target.tool
  return { refusal: 'It is a prompt: get it with execute.', outcome: 'rejected' }
}

function isKnown(work: Work, name: string): boolean {
  const { toolByName, toolsByOwnName, promptByName } = work.catalog
  const isNamed = toolByName.has(name) || toolsByOwnName.has(name) || promptByName.has(name)
  return isNamed || nearlyTool(work, name) !== undefined
}

/** Why a tool was not loaded: there is no room for its definition. */
function overBudget({ catalog: { config, servers } }: Work, tool: ToolRoute): Failed {
  const { definitionTokens, activeTools } = config.budget
  const refusal = `No room for ${quote(tool.path)} (${listedTokens(tool)} tokens): ${activeTools} tools and ${definitionTokens} tokens may be active at a time. Call it with execute.`
  const server = servers.get(tool.server)
  return { tool: tool.path, refusal: { refusal, outcome: 'rejected', server, tool: tool.tool } }
}

/** Whether other tools are active than before, in whatever order. */
function isChanged(before: readonly ToolRoute[], after: readonly ToolRoute[]): boolean {
  return before.length !== after.length || after.some(tool => !before.includes(tool))
}

function compose(
  work: Work,
  { active, loaded, evicted, refused, tokens }: Loading<ToolRoute>,
  parts: readonly ToolRoute[],
  failed: readonly Failed[],
) {
  const hasSession = work.request.caller.client !== undefined
  const budget = answerBudget(work.catalog)
  const lines = [...failed, ...refused.map(tool => overBudget(work, tool))].map(({ tool, refusal }) => ({
    tool: shorten(tool, MAX_NAME_CHARACTERS),
    reason: refusal.refusal,
  }))
  const shown = fitLines(lines, budget * NOT_LOADED_SHARE).lines
  const hidden = lines.length - shown.length
  if (hidden > 0) shown.push({ tool: `and ${hidden} more`, reason: 'No room here to say why.' })
  const frame = {
    loaded: fitNames(loaded.map(pathOf), budget * NAMES_SHARE),
    active_count: hasSession ? active.length : 0,
    estimated_tokens: tokens,
    evicted: hasSession ? fitNames(evicted.map(pathOf), budget * NAMES_SHARE) : [],
    not_loaded: shown.length > 0 ? shown : undefined,
  }
  const { definitions, more, frameTokens, schemaTokens } = composeDefinitions(
    [...parts, ...loaded],
    frame,
    budget,
    hasSession,
  )
  return { text: JSON.stringify({ ...frame, definitions, more }), frameTokens, schemaTokens }
}

function pathOf({ path }: ToolRoute): string {
  return path
}
