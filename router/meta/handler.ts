/** Answers every request of a router: meta-tools and native lists on gateway routes, and the endpoints of single servers. */
import type { Profile } from '../../core/catalog/router-config.ts'
import { isObject } from '../../core/json.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import { changedList, RESOURCE_UPDATED } from '../../core/mcp/protocol/message.ts'
import type { Clients } from '../../core/mcp/server/clients.ts'
import type { McpHandler, McpRequest } from '../../core/mcp/server/handler.ts'
import type { SessionListener } from '../../core/mcp/upstream.ts'
import type { Limits } from '../access/limits.ts'
import { ScopesMissing } from '../access/missing-scopes.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Scripts } from '../code/scripts.ts'
import type { RouterObserver } from '../observer.ts'
import type { Pool } from '../upstream/pool.ts'
import { ARGUMENTS_PATH, textAt } from './arguments/given-arguments.ts'
import { createSchemaChecks } from './arguments/schema-checks.ts'
import { type CallerCatalogsOptions, createCallerCatalogs } from './caller-catalogs.ts'
import { callTool } from './calling/call-tool.ts'
import { findCalled } from './calling/find-called.ts'
import { challengeFor, invalid, notFound } from './calling/rpc-errors.ts'
import { handleServer } from './calling/server-route.ts'
import { describe, isServed } from './listing/describe.ts'
import { createListChanges, type ListChanges, type ListChangesOptions } from './listing/list-changes.ts'
import { completeNatively, getPromptNatively, listNatively, readNatively } from './listing/native.ts'
import { isDirect, type QueryEncoder, routeName, type Work } from './meta-tool.ts'
import { createOnce } from './once.ts'
import { metaToolNamed, type ProfileTools } from './profiles/profile.ts'
import { PROFILES, wordsOf } from './profiles/profiles.ts'
import { createActivatedSets } from './profiles/registry/activated.ts'
import { subscribe } from './resources/subscribe.ts'
import type { KeptResults } from './results/kept-results.ts'
import { nameMetaTool, traced } from './spans.ts'
import { createTurns } from './turns.ts'
import { refuse } from './wording/answers.ts'
import { quote } from './wording/sentences.ts'

export type HandlerOptions = CallerCatalogsOptions & {
  /** Yields the newest catalog whenever it changes, so that clients can be notified of changed lists. Absent: no notifications. */
  watch?: ListChangesOptions['watch']
  /** As in ListChangesOptions. */
  settled?: ListChangesOptions['settled']
  limits: Limits
  pool: Pool
  observer: RouterObserver
  encodeQuery?: QueryEncoder
  /** Stores texts that are cut out of results. Absent: they are lost, and answers say so. */
  results?: KeptResults
  /** Runs scripts of agents. Absent: none are run. */
  scripts?: Scripts
  /** State of clients between their requests. Absent: clients get no notifications between requests. */
  clients?: Clients
}

export function createHandler(options: HandlerOptions): McpHandler {
  const { watch, settled, limits, pool, observer, encodeQuery, results, scripts, clients } = options
  const activated = createActivatedSets()
  const schemas = createSchemaChecks()
  const once = createOnce()
  const { catalogOf, restrict, readyCatalogOf } = createCallerCatalogs(options)
  const changes = watch && createListChanges({ watch, restrict, once, settled })
  if (clients) pool.attach(listenerOf(clients))
  const { tracer } = observer
  const [turns, checks] = [createTurns(), createTurns()]
  const kept = { results, scripts, clients, activated, schemas, once, turns }
  const shared = { limits, pool, observer, encodeQuery, ...kept }

  const answer = (work: Work): McpResponse | Promise<McpResponse> => {
    const reply = dispatch(work, changes)
    return reply instanceof Promise && work.catalog.view ? reply.catch(asChallenge) : reply
  }

  const serve = (request: McpRequest, catalog: Catalog, arrivedMs: number): Promise<McpResponse> => {
    const work: Work = { ...shared, request, words: wordsOf(request.route), catalog, arrivedMs }
    return tracer ? traced(tracer, work, answer) : Promise.resolve(answer(work))
  }

  return {
    handle(request) {
      const arrivedMs = performance.now()
      const { caller } = request
      const ready = readyCatalogOf(caller, request)
      return ready
        ? ready.then(catalog => serve(request, catalog, arrivedMs))
        : serve(request, catalogOf(caller.identity), arrivedMs)
    },
    tell: pool.tell,
    async subscribe(route, subscription, life) {
      const { caller, uri } = subscription
      const reading = { route, method: 'resources/subscribe', params: { uri } }
      const catalog = (await readyCatalogOf(caller, reading)) ?? catalogOf(caller.identity)
      const words = wordsOf(route)
      const dependencies = { catalog, catalogOf, watch, turns: checks, pool, observer, words }
      return subscribe(dependencies, route, subscription, life)
    },
    forget(client) {
      pool.forget(client)
      activated.forget(client)
      changes?.forget(client)
    },
    listen: changes?.listen,
    describe(route, identity) {
      const catalog = catalogOf(identity)
      return once(catalog, `described ${routeName(route)}`, () =>
        describe(catalog, route, changes !== undefined),
      )
    },
    inputSchema(route, tool, identity) {
      const name = route.kind === 'server' ? `${route.server}:${tool}` : isDirect(route) ? tool : undefined
      return name === undefined ? undefined : catalogOf(identity).toolByName.get(name)?.definition.inputSchema
    },
  }
}

function dispatch(work: Work, changes: ListChanges | undefined): McpResponse | Promise<McpResponse> {
  const { request, catalog } = work
  const { route } = request
  if (route.kind === 'server') return handleServer(work, route.server)
  if (route.profile === 'direct') changes?.notice(request, catalog)
  return handleGateway(work, route.profile)
}

/** Turns `ScopesMissing`, which is thrown only where rules apply, into its answer; rethrows any other error. */
function asChallenge(error: unknown): McpResponse {
  if (error instanceof ScopesMissing) return challengeFor(error)
  throw error
}

/**
 * Forwards notifications and questions from a server's session of one client to that client, except list changes, which are detected from the
 * catalog, and resource updates, which go to the subscribers.
 */
function listenerOf(clients: Clients): SessionListener {
  const isHandledElsewhere = (method: string): boolean =>
    changedList(method) !== undefined || method === RESOURCE_UPDATED
  return {
    notified(client, notification) {
      if (!isHandledElsewhere(notification.method)) clients.notify(client, notification)
    },
    asked: (client, request, signal) => clients.asking(client, request)?.(request, signal),
  }
}

function handleGateway(work: Work, name: Profile): McpResponse | Promise<McpResponse> {
  if (!isServed(work.catalog, name)) return notFound(`Profile ${name} is not allowed at this gateway.`)
  const profile = PROFILES[name]
  switch (work.request.method) {
    case 'tools/call':
      return call(work, profile)
    case 'tools/list':
      return profile.list(work)
    case 'resources/list':
      return listNatively(work, 'resources')
    case 'resources/templates/list':
      return listNatively(work, 'resourceTemplates')
    case 'resources/read':
      return readNatively(work)
    case 'prompts/list':
      return listNatively(work, 'prompts')
    case 'prompts/get':
      return getPromptNatively(work)
    case 'completion/complete':
      return completeNatively(work)
    default:
      return notFound(`Method ${quote(work.request.method)} is not served here.`)
  }
}

/** Answers tools/call: calls a meta-tool by its name, or any tool by its path or listed name. */
function call(work: Work, profile: ProfileTools): McpResponse | Promise<McpResponse> {
  const { name, arguments: args = {} } = work.request.params
  if (typeof name !== 'string') return invalid('name is missing')
  if (!isObject(args)) return invalid('arguments is no object')
  const metaTool = metaToolNamed(work.catalog, profile, name)
  if (metaTool) {
    if (work.span) nameMetaTool(work.span, name)
    return metaTool.call(work, args)
  }
  const called = findCalled(work, name)
  if ('refusal' in called) return refuse(work, called)
  const { target, notes } = called
  if ('prompt' in target) return invalid(`${name} is a prompt`)
  const { params, caller } = work.request
  work.activated.touch(caller.client, target.tool.path)
  return callTool(work, target, { value: args, text: textAt(work.request, ARGUMENTS_PATH) }, params, notes)
}
