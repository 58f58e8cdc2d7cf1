/** The endpoint of one server, /servers/<name>/mcp: its lists come from the catalog, its answers are passed on unchanged. */
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import { Fault } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import { RESOURCE_NOT_FOUND } from '../../../core/mcp/protocol/error-codes.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import { mayRead } from '../../access/reachable.ts'
import { ARGUMENTS_PATH, repeatedRefusal, textAt } from '../arguments/given-arguments.ts'
import { supportsTasks } from '../listing/describe.ts'
import { type ListName, listPage, serverList } from '../listing/lists.ts'
import type { Work } from '../meta-tool.ts'
import { readCompleted } from '../resources/completed.ts'
import { errorReply, refuse } from '../wording/answers.ts'
import { faultSentence, quote, stateSentence } from '../wording/sentences.ts'
import { forward } from './forward.ts'
import { refuseLimited } from './limited.ts'
import { invalid, notFound, refuseNatively, unanswered } from './rpc-errors.ts'
import { findServer, heldRefusal } from './targets.ts'

const PAGE_ITEMS = 500
/** Limit for the name of an unknown method, which appears in logs. */
const MAX_METHOD_CHARACTERS = 128

const LISTS: ReadonlyMap<string, ListName> = new Map([
  ['tools/list', 'tools'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates'],
  ['prompts/list', 'prompts'],
])

/** Methods whose params have the id of a task. Task ids are bound to callers (core/mcp/server/bound.ts), so these need no check by the view. */
const TASK_METHODS: ReadonlySet<string> = new Set([
  'tasks/get',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
])

/** Answers a request at the endpoint of the server `name`. */
export function handleServer(work: Work, name: string): McpResponse | Promise<McpResponse> {
  const { catalog, request } = work
  const { method } = request
  if (!catalog.config.exposeServers) return notFound('Servers are not exposed one by one at this gateway.')
  const server = findServer(catalog, name)
  if ('refusal' in server) return refuseNatively(work, server)
  if (method === 'tools/call') return callTool(work, server)
  const list = LISTS.get(method)
  if (list) return listOf(work, server, list)
  if (method.startsWith('tasks/') && !supportsTasks(server, catalog))
    return notFound(
      `Method ${quote(method)} is not served here: all clients share one session with server ${quote(name)}, which cannot tell whose task it is.`,
    )
  if (method.length > MAX_METHOD_CHARACTERS) return notFound('There is no method of such a name.')
  return outsideView(work, server) ?? passOn(work, server, checkedParams(work))
}

/** A page of a list; the first page is serialized once for each catalog. */
function listOf(work: Work, server: RouterServer, list: ListName): McpResponse {
  const { catalog, once, request, observer } = work
  const { name } = server
  const { cursor } = request.params
  if (!catalog.catalogs.has(name))
    return refuseNatively(work, { refusal: stateSentence(server), outcome: 'unavailable', server })
  const pageAt = (at: unknown) => listPage(list, serverList(once, catalog, name, list), at, PAGE_ITEMS)
  const page =
    cursor === undefined ? once(catalog, `first ${list} of ${name}`, () => pageAt(undefined)) : pageAt(cursor)
  if (!page) return invalid('cursor is not valid')
  if (list === 'tools' && cursor === undefined) {
    const tokens = catalog.parts.find(part => part.server === name)?.tokens ?? 0
    observer.tokensDirect('server', tokens)
    observer.tokensServed('server', 'definitions', tokens)
  }
  return page.reply
}

async function callTool(work: Work, server: RouterServer): Promise<McpResponse> {
  const { catalog, request } = work
  const { params, method } = request
  const tool = catalog.toolByName.get(`${server.name}:${params.name}`)
  if (tool === undefined) return unknownTool(work, server)
  const argumentsText = textAt(request, ARGUMENTS_PATH)
  const repeated = repeatedRefusal({ value: params.arguments, text: argumentsText })
  if (repeated !== undefined)
    return refuse(work, { refusal: repeated, outcome: 'rejected', server, tool: tool.tool })
  const limited = refuseLimited(work, server, tool)
  if (limited) return limited
  const supported = params.task === undefined || supportsTasks(server, catalog)
  const sent = supported ? params : withoutTask(params)
  const answer = await forward(work, { server, method, params: sent, tool, argumentsText })
  return answer instanceof Fault ? errorReply(work, faultSentence(answer, server, work.words)) : answer
}

/** Removes `task` for a server that does not support tasks. */
function withoutTask({ task: _, ...params }: JsonObject): JsonObject {
  return params
}

function unknownTool(work: Work, server: RouterServer): McpResponse {
  if (!work.catalog.catalogs.has(server.name))
    return refuse(work, { refusal: stateSentence(server), outcome: 'unavailable', server })
  const name = String(work.request.params.name)
  const held = heldRefusal(work.catalog, `${server.name}:${name}`)
  if (held) return refuse(work, held)
  return refuseNatively(work, {
    refusal: `Unknown tool: ${quote(name)}`,
    outcome: 'rejected',
    server,
    asked: { kind: 'name', text: name, server: server.name },
  })
}

/** Refuses requests for items outside the caller's view as if the items did not exist, and unknown methods, which could access anything. */
function outsideView(work: Work, server: RouterServer): McpResponse | undefined {
  if (!work.catalog.view) return undefined
  const { method, params } = work.request
  switch (method) {
    case 'resources/read':
      return resourceOutside(work, server, params.uri)
    case 'prompts/get':
      return promptOutside(work, server, params.name)
    case 'completion/complete': {
      const ref = readCompleted(params.ref)
      if (ref?.type === 'ref/resource') return resourceOutside(work, server, ref.uri)
      return promptOutside(work, server, ref?.name)
    }
    default:
      return TASK_METHODS.has(method) ? undefined : notFound(`Method ${quote(method)} is not served here.`)
  }
}

function resourceOutside(work: Work, server: RouterServer, uri: unknown): McpResponse | undefined {
  if (typeof uri === 'string' && mayRead(work.catalog, server, uri)) return undefined
  const named = String(uri)
  work.observer.missed(work, { kind: 'uri', text: named, server: server.name })
  return {
    error: {
      code: RESOURCE_NOT_FOUND,
      message: `There is no resource ${quote(named)}.`,
      data: { uri: named },
    },
  }
}

function promptOutside(work: Work, server: RouterServer, name: unknown): McpResponse | undefined {
  if (typeof name === 'string' && work.catalog.promptByName.has(`${server.name}:${name}`)) return undefined
  work.observer.missed(work, { kind: 'prompt', text: String(name), server: server.name })
  return invalid(`There is no prompt ${quote(String(name))}.`)
}

/** The params to pass on to the server. If the view was checked, `ref` has only the fields that were checked. */
function checkedParams({ catalog, request: { method, params } }: Work): JsonObject {
  const ref = catalog.view && method === 'completion/complete' ? readCompleted(params.ref) : undefined
  return ref ? { ...params, ref } : params
}

/** Forwards a request with any other method, including methods that we do not know. */
async function passOn(work: Work, server: RouterServer, params: JsonObject): Promise<McpResponse> {
  const { method } = work.request
  const answer = await forward(work, { server, method, params })
  return answer instanceof Fault ? unanswered(answer, server, work.words) : answer
}
