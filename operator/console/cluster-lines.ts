/** Gateways and servers of a cluster as the console lists them, from their manifests and statuses. Pure. */
import type { ConsoleClusterServer, ConsoleCondition, ConsoleGateway } from '../../core/console/shapes.ts'
import { CONDITION } from '../../crds/conditions.ts'
import type { McpGatewayStatus } from '../../crds/gateway.ts'
import type { McpServerStatus } from '../../crds/server.ts'
import type { Manifest } from '../runtime/caches.ts'

const MAX_MESSAGE_CHARACTERS = 1_000

/** A gateway in the list. The operator wrote the status, so it has the form of its schema; the spec has not been parsed. */
export function gatewayLine({ metadata, spec, status }: Manifest): ConsoleGateway {
  const { servers, tools, tokens, generation, routers, search, url } = (status ??
    {}) as Partial<McpGatewayStatus>
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    ready: isReady(status),
    servers: { selected: servers?.selected ?? 0, ready: servers?.ready ?? 0 },
    tools: tools ?? 0,
    tokens: { direct: tokens?.direct, exposed: tokens?.exposed },
    generation,
    routers: routers ?? [],
    search,
    auth: (spec as { auth?: unknown } | undefined)?.auth !== undefined,
    url,
    conditions: conditionsOf(status),
  }
}

/** A server in the list. */
export function serverLine({ metadata, status }: Manifest): ConsoleClusterServer {
  const { replicas, tools } = (status ?? {}) as Partial<McpServerStatus>
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    ready: isReady(status),
    replicas: replicas && { wanted: replicas.wanted, ready: replicas.ready },
    tools: tools?.count,
    tokens: tools?.tokens,
    conditions: conditionsOf(status),
  }
}

function isReady(status: Manifest['status']): boolean {
  return status?.conditions?.some(one => one.type === CONDITION.ready && one.status === 'True') ?? false
}

function conditionsOf(status: Manifest['status']): ConsoleCondition[] {
  return (status?.conditions ?? []).map(({ type, status, reason, message, lastTransitionTime }) => {
    const since = Date.parse(lastTransitionTime ?? '')
    return {
      ...{ type, status, reason, message: message.slice(0, MAX_MESSAGE_CHARACTERS) },
      ...(Number.isFinite(since) && { since }),
    }
  })
}
