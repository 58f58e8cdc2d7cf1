/** Watches a resource for a client: what its server tells of it is passed on under the URI that the client knows. */

import { exposedUri } from '../../../core/catalog/names.ts'
import { Fault } from '../../../core/errors.ts'
import { isObject } from '../../../core/json.ts'
import type { McpResponse, Notification } from '../../../core/mcp/protocol/json-rpc.ts'
import type { Subscribing } from '../../../core/mcp/server/handler.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { RouterObserver } from '../../observer.ts'
import type { Pool } from '../../upstream/pool.ts'
import { outcomeOf } from '../calling/forward.ts'
import { invalid, unanswered } from '../calling/rpc-errors.ts'
import { findServer } from '../calling/targets.ts'
import type { Refusal } from '../wording/answers.ts'
import type { ProfileWords } from '../wording/profile-words.ts'
import { quote } from '../wording/sentences.ts'
import { findResource, type ResourceTarget } from './resource-target.ts'

export type SubscribeDependencies = {
  catalog: Catalog
  pool: Pool
  observer: RouterObserver
  words: ProfileWords
}

/** Replies once the server took it on; then tells until the signal aborts. */
export async function subscribe(
  means: SubscribeDependencies,
  subscribing: Subscribing,
): Promise<McpResponse> {
  const { catalog, observer } = means
  const target = targetOf(catalog, subscribing)
  if ('refusal' in target) return invalid(target.refusal)
  const { server } = target
  if (!tellsOfChanges(catalog, server.name))
    return invalid(`Server ${quote(server.name)} tells nothing of changes of its resources.`)
  const begunMs = performance.now()
  const answer = await take(means, subscribing, target)
  const totalMs = performance.now() - begunMs
  const outcome = outcomeOf(answer)
  const log = server.logging.requests
  const method = 'resources/subscribe'
  observer.called({ server: server.name, method, outcome, totalMs, upstreamMs: totalMs, log })
  if (answer instanceof Fault) return unanswered(answer, server, means.words)
  return answer.error ? answer : { result: {} }
}

function targetOf(catalog: Catalog, { route, uri }: Subscribing): ResourceTarget | Refusal {
  if (route.kind === 'gateway') return findResource(catalog, uri)
  const server = findServer(catalog, route.server)
  return 'refusal' in server ? server : { server, uri }
}

function tellsOfChanges({ catalogs }: Catalog, server: string): boolean {
  const { resources } = catalogs.get(server)?.capabilities ?? {}
  return isObject(resources) && resources.subscribe === true
}

async function take(
  { pool }: SubscribeDependencies,
  { route, uri, client, capabilities, signal, tell }: Subscribing,
  target: ResourceTarget,
): Promise<McpResponse | Fault> {
  const own = target.uri
  const server = target.server.name
  /** What is told may be of a part of the resource, with a URI of its own. */
  const onUpdate = ({ method, params }: Notification): void => {
    const told = params?.uri
    if (told === own || typeof told !== 'string') tell({ method, params: { ...params, uri } })
    else
      tell({ method, params: { ...params, uri: route.kind === 'server' ? told : exposedUri(server, told) } })
  }
  try {
    return await pool.subscribe(server, { uri: own, client, capabilities, onUpdate }, signal)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return error
  }
}
