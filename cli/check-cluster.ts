/** What is wrong with manifests that are meant for a cluster, as far as the manifests alone say it. Pure. */
import { acceptGateway, acceptServer } from '../core/catalog/accept.ts'
import { resolve } from '../core/catalog/resolve.ts'
import type { Problem } from '../core/errors.ts'
import type { McpGateway } from '../crds/gateway.ts'
import type { McpServer } from '../crds/server.ts'
import { configMapValues } from '../local/desire.ts'
import type { PlacedManifest } from '../local/files.ts'
import { accessFindings, placed } from '../local/read.ts'

/**
 * Checks all servers and gateways, or the gateway of one name, as the operator would. What the cluster itself has to tell is not
 * checked: values of Secrets and ConfigMaps, images, and the tools that a server offers.
 */
export function clusterProblems(manifests: readonly PlacedManifest[], gatewayName?: string): Problem[] {
  const servers = manifests.flatMap(({ manifest }) => (manifest.kind === 'McpServer' ? [manifest] : []))
  const gateways = manifests.flatMap(({ manifest }) => (manifest.kind === 'McpGateway' ? [manifest] : []))
  const checked = gateways.filter(({ metadata }) => (gatewayName ?? metadata.name) === metadata.name)
  if (gatewayName !== undefined && checked.length === 0)
    return [{ reason: 'GatewayNotFound', message: `there is no McpGateway "${gatewayName}"` }]
  const configMaps = manifests.flatMap(({ manifest }) => (manifest.kind === 'ConfigMap' ? [manifest] : []))
  const inGateway = (gateway: McpGateway): Problem[] => {
    const input = { gateway, servers, observed: new Map(), configMaps: configMapValues(configMaps, gateway) }
    const { config } = resolve({ ...input, placement: 'cluster', now: 0 })
    const refused = acceptGateway(gateway, 'cluster').map(problem => placed(problem, gateway, manifests))
    return [...refused, ...accessFindings({ config, gateway }, manifests)]
  }
  return [...servers.flatMap(server => inServer(server, manifests)), ...checked.flatMap(inGateway)]
}

function inServer(server: McpServer, manifests: readonly PlacedManifest[]): Problem[] {
  return acceptServer(server, 'cluster').map(({ refuses: _, ...problem }) =>
    placed(problem, server, manifests),
  )
}
