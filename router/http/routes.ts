/** Maps a path to its endpoint under a router config, or to the reason why there is none. Pure. */
import type { Profile, RouterConfig } from '../../core/catalog/router-config.ts'
import type { McpRoute } from '../../core/mcp/server/handler.ts'

export type RouteLookup = { route: McpRoute; problem?: undefined } | { route?: undefined; problem: string }

/** `/mcp`, or `/mcp/<profile>` for the default and the allowed profiles. */
export function gatewayRoute(
  { profile, allowedProfiles }: RouterConfig,
  asked: string | undefined,
): RouteLookup {
  if (asked === undefined) return { route: { kind: 'gateway', profile } }
  const served: Profile[] = [...new Set([profile, ...allowedProfiles])]
  const found = served.find(one => one === asked)
  if (found) return { route: { kind: 'gateway', profile: found } }
  return { problem: `No such profile here; served are: ${served.map(one => `/mcp/${one}`).join(', ')}` }
}

/** `/servers/<name>/mcp`, only if the gateway exposes its servers. */
export function serverRoute({ exposeServers, servers }: RouterConfig, name: string): RouteLookup {
  if (!exposeServers) return { problem: 'Servers are not exposed one by one here; use /mcp' }
  const known = servers.some(server => server.name === name)
  return known ? { route: { kind: 'server', server: name } } : { problem: 'No such server in this gateway' }
}
