/** Forwards requests to the replicas that they belong to. */
import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { McpRoute } from '../../core/mcp/server/handler.ts'
import type { RequestHeaders } from '../../core/mcp/server/headers.ts'
import type { InternalCredentials, SignedRequest } from '../access/internal-credential.ts'
import { createOwners, type OwnersOptions } from './owner.ts'
import { createReplicas, FORWARDED, type ReplicasOptions, type Sent } from './replicas.ts'

export type Forwarder = {
  /**
   * Returns undefined if the request is to be answered here. Otherwise the owner's answer is passed on and the outcome is
   * `answered`, or the owner is gone together with the state bound to it: then the outcome is `gone`, or `gone, bound` if no other
   * replica can answer the request. Never rejects.
   */
  forward(
    config: RouterConfig,
    route: McpRoute,
    request: ForwardedRequest,
    body: string | undefined,
    raw: ServerResponse,
  ): Promise<Outcome> | undefined
  /** Sends a message to every known replica because it may be meant for any of them. Does not wait for answers. */
  notifyAll(route: McpRoute, headers: RequestHeaders, body: string): void
  close(): Promise<void>
}

export type Outcome = 'answered' | 'gone' | 'gone, bound'

export type ForwardedRequest = Pick<FastifyRequest, 'method' | 'url' | 'headers'>

export type ForwarderOptions = OwnersOptions &
  ReplicasOptions & {
    /** Sign what is forwarded, so that the owner does not count it again. */
    credentials: Pick<InternalCredentials, 'issue' | 'prove'>
  }

export function createForwarder(options: ForwarderOptions): Forwarder {
  const owners = createOwners(options)
  const replicas = createReplicas(options, owners.markGone)
  const marked = (headers: RequestHeaders, request: SignedRequest): RequestHeaders => ({
    ...headers,
    [FORWARDED]: options.credentials.issue('forwarded', request),
  })

  return {
    forward(config, route, { method, url, headers }, body, raw) {
      if (headers[FORWARDED] !== undefined) return undefined
      const owner = owners.find(config, route, { method, headers, body })
      if (!owner) return undefined
      const gone = owner.bound ? 'gone, bound' : 'gone'
      if (owner.isGone) return Promise.resolve(gone)
      const path = pathOf(url)
      const sent: Sent = {
        origin: owner.origin,
        path,
        method: method as Sent['method'],
        headers: marked(headers, { method, path, body }),
        body,
        repeatable: owner.repeatable,
      }
      return replicas.ask(sent, raw).then(answered => (answered ? 'answered' : gone))
    },
    notifyAll(route, headers, body) {
      if (headers[FORWARDED] !== undefined) return
      const path = route.kind === 'server' ? `/servers/${route.server}/mcp` : `/mcp/${route.profile}`
      const request = { method: 'POST', path, body } as const
      const message = { ...request, headers: marked(headers, request) }
      for (const origin of owners.others()) void replicas.notify({ origin, ...message })
    },
    close: replicas.close,
  }
}

/** Removes the origin of a request target in absolute form. */
function pathOf(url: string): string {
  return url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
}
