/** Subscribes to a resource for a client; updates have the URI that the client used. */
import { isDeepStrictEqual } from 'node:util'
import { exposedUri } from '../../../core/catalog/names.ts'
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import { Fault } from '../../../core/errors.ts'
import type { JsonValue } from '../../../core/json.ts'
import type { Identity } from '../../../core/mcp/identity.ts'
import { declares } from '../../../core/mcp/protocol/declares.ts'
import type { McpResponse, Notification } from '../../../core/mcp/protocol/json-rpc.ts'
import { MAX_URI_CHARACTERS } from '../../../core/mcp/protocol/uri-limits.ts'
import type { McpRoute, SubscriptionLife } from '../../../core/mcp/server/handler.ts'
import type { Subscription } from '../../../core/mcp/upstream.ts'
import { ScopesMissing, scopesToAskFor } from '../../access/missing-scopes.ts'
import { mayRead } from '../../access/reachable.ts'
import type { View } from '../../access/view.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { RouterObserver } from '../../observer.ts'
import type { Pool } from '../../upstream/pool.ts'
import { outcomeOf } from '../calling/forward.ts'
import { challengeFor, invalid, unanswered } from '../calling/rpc-errors.ts'
import { findServer } from '../calling/targets.ts'
import type { Turns } from '../turns.ts'
import type { Refusal } from '../wording/answers.ts'
import type { ProfileWords } from '../wording/profile-words.ts'
import { quote } from '../wording/sentences.ts'
import { findResource, type ResourceTarget } from './resource-target.ts'

export type SubscribeDependencies = {
  /** As restricted for the caller. */
  catalog: Catalog
  /** The newest catalog, restricted for a caller. */
  catalogOf: (identity: Identity) => Catalog
  /** Yields whenever a catalog changes. Absent: they do not change. */
  watch?: (signal: AbortSignal) => AsyncIterable<Catalog>
  /** For the checks of all subscriptions when a catalog changes; not those of searches, which would wait for them. */
  turns: Turns
  pool: Pool
  observer: RouterObserver
  words: ProfileWords
}

/** Replies once the server has accepted the subscription, then passes updates on until the subscription ends. */
export async function subscribe(
  dependencies: SubscribeDependencies,
  route: McpRoute,
  subscription: Subscription,
  life: SubscriptionLife,
): Promise<McpResponse> {
  const { catalog, watch, turns, pool, observer } = dependencies
  const target = targetOf(catalog, route, subscription.uri)
  const { caller } = subscription
  const method = 'resources/subscribe'
  const by = { request: { method, params: { uri: subscription.uri }, caller }, catalog }
  if ('refusal' in target) {
    if (target.asked) observer.missed(by, target.asked)
    return invalid(target.refusal)
  }
  const { server } = target
  if (!declares(catalog.catalogs.get(server.name)?.capabilities?.resources, 'subscribe'))
    return invalid(`Server ${quote(server.name)} does not support subscriptions to its resources.`)
  const scopes = scopesToAskFor(catalog, caller.identity, server, { uri: target.uri })
  if (scopes.length > 0) {
    const { label: client } = caller
    const refused = {
      method,
      outcome: 'rejected',
      totalMs: 0,
      upstreamMs: 0,
      log: server.logging.requests,
    } as const
    observer.called({ ...refused, server: server.name, client, by, scopes, unsent: { uri: target.uri } })
    return challengeFor(new ScopesMissing(scopes))
  }
  const startedMs = performance.now()
  const { mayReport, isStillAllowed } = rightsOf(dependencies, target, life)
  const forwarded = translated(route, subscription, target, mayReport)
  const onUpdate: Subscription['onUpdate'] = update => isStillAllowed() && forwarded.onUpdate(update)
  const answer = await pool.subscribe(server.name, { ...forwarded, onUpdate }, life.signal).catch(asFault)
  const totalMs = performance.now() - startedMs
  const outcome = outcomeOf(answer)
  const log = server.logging.requests
  observer.called({
    server: server.name,
    method,
    outcome,
    client: caller.label,
    totalMs,
    upstreamMs: totalMs,
    log,
    by,
    sent: { params: { uri: target.uri }, answer },
  })
  if (answer instanceof Fault) return unanswered(answer, server, dependencies.words)
  if (answer.error) return answer
  if (watch) void atEach(watch(life.signal), () => turns(() => life.signal.aborted || isStillAllowed()))
  return { result: {} }
}

/** `isStillAllowed` ends the subscription if its caller may no longer read the resource. */
function rightsOf(
  dependencies: SubscribeDependencies,
  { server, uri }: ResourceTarget,
  life: SubscriptionLife,
) {
  const mayReport = (uri: string) => isReadable(dependencies, life.identity(), { server, uri })
  const isGranted = rememberingGranted()
  const isStillAllowed = () => {
    if (isReadable(dependencies, life.identity(), { server, uri }, isGranted)) return true
    // An expired credential may be followed by a renewed one.
    if (life.identity()) life.end()
    return false
  }
  return { mayReport, isStillAllowed }
}

/** Whether the caller may read the resource without further scopes, as the rules are now. */
function isReadable(
  { catalogOf }: SubscribeDependencies,
  identity: Identity | undefined,
  { server, uri }: ResourceTarget,
  isGrantedBy = isGranted,
): boolean {
  if (!identity) return false
  const now = catalogOf(identity)
  // Without rules, the subscription waits for a server that is gone for a while.
  if (!now.view) return true
  // Not in the restricted catalog: a server of whose shared lists nothing is granted is not in it, though the user's own lists may have something.
  const known = (now.whole ?? now).servers.get(server.name)
  return !!known && isGrantedBy(now, identity, known, uri)
}

function isGranted(catalog: Catalog, identity: Identity, server: RouterServer, uri: string): boolean {
  return mayRead(catalog, server, uri) && scopesToAskFor(catalog, identity, server, { uri }).length === 0
}

/** For one URI of one server: `isGranted`, which reads the URI in many forms only if the rules or the caller's credential changed. */
function rememberingGranted(): typeof isGranted {
  let last: { view: View | undefined; identity: Identity; kind: string; granted: boolean } | undefined
  return (catalog, identity, server, uri) => {
    const { view } = catalog
    const { kind } = server.endpoint
    const isSame =
      last?.identity === identity &&
      last.kind === kind &&
      (last.view === view || isDeepStrictEqual(last.view, view))
    const granted = isSame && last ? last.granted : isGranted(catalog, identity, server, uri)
    last = { view, identity, kind, granted }
    return granted
  }
}

async function atEach(changes: AsyncIterable<unknown>, run: () => Promise<unknown>): Promise<void> {
  for await (const _ of changes) await run()
}

function targetOf(catalog: Catalog, route: McpRoute, uri: string): ResourceTarget | Refusal {
  if (route.kind === 'gateway') return findResource(catalog, uri)
  const server = findServer(catalog, route.server)
  if ('refusal' in server) return server
  if (mayRead(catalog, server, uri)) return { server, uri }
  return {
    refusal: `There is no resource ${quote(uri)}.`,
    outcome: 'rejected',
    asked: { kind: 'uri', text: uri, server: server.name },
  }
}

/** The subscription with the server's URI. An update may have the URI of a part of the resource, which is reported if the caller may read it. */
function translated(
  route: McpRoute,
  subscription: Subscription,
  target: ResourceTarget,
  mayReport: (uri: string) => boolean,
): Subscription {
  const clientUri = subscription.uri
  const { uri, server } = target
  const shownUri = (updated: JsonValue | undefined): JsonValue => {
    if (updated === uri || typeof updated !== 'string') return clientUri
    // Such a URI of a part is told as the resource itself.
    if (updated.length > MAX_URI_CHARACTERS || !mayReport(updated)) return clientUri
    return route.kind === 'server' ? updated : exposedUri(server.name, updated)
  }
  const onUpdate = ({ method, params }: Notification): void =>
    subscription.onUpdate({ method, params: { ...params, uri: shownUri(params?.uri) } })
  return { ...subscription, uri, onUpdate }
}

/** Returns a Fault as a value; rethrows any other error. */
function asFault(error: unknown): Fault {
  if (error instanceof Fault) return error
  throw error
}
