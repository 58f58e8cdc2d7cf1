/** Finds what is wrong with manifests for a cluster, as far as the manifests alone show it. Pure. */
import { acceptGateway, acceptServer } from '../core/catalog/accept.ts'
import { type ResolveProblem, resolve } from '../core/catalog/resolve.ts'
import { type GivenScript, scriptRefusals } from '../core/catalog/resolve-scripts.ts'
import type { RouterConfig, RouterServer } from '../core/catalog/router-config.ts'
import { inspectScript } from '../core/code/inspect-script.ts'
import { unknownTools } from '../core/code/unknown-tools.ts'
import type { Problem } from '../core/errors.ts'
import type { McpGateway } from '../crds/gateway.ts'
import type { McpServer } from '../crds/server.ts'
import { configMapValues } from '../local/desire.ts'
import type { PlacedManifest } from '../local/files.ts'
import { accessFindings, withLocation } from '../local/read.ts'
import { unknownTool } from '../local/script-findings.ts'

/**
 * Checks all servers and scripts, and all gateways or the one of the given name, as the operator would. What only the cluster knows is not
 * checked: values of Secrets and ConfigMaps, images, and the tools that a server offers.
 */
export function clusterProblems(manifests: readonly PlacedManifest[], gatewayName?: string): Problem[] {
  const servers = manifests.flatMap(({ manifest }) => (manifest.kind === 'McpServer' ? [manifest] : []))
  const gateways = manifests.flatMap(({ manifest }) => (manifest.kind === 'McpGateway' ? [manifest] : []))
  const checked = gateways.filter(({ metadata }) => (gatewayName ?? metadata.name) === metadata.name)
  if (gatewayName !== undefined && checked.length === 0)
    return [{ reason: 'GatewayNotFound', message: `there is no McpGateway "${gatewayName}"` }]
  const configMaps = manifests.flatMap(({ manifest }) => (manifest.kind === 'ConfigMap' ? [manifest] : []))
  const scripts = manifests.flatMap(({ manifest }) =>
    manifest.kind === 'McpScript' ? [{ manifest, inspected: inspectScript(manifest.spec.code) }] : [],
  )
  const validScripts = scripts.filter(script => scriptRefusals(script).length === 0)
  const gatewayProblems = (gateway: McpGateway): Problem[] => {
    const input = {
      gateway,
      servers,
      scripts,
      observed: new Map(),
      configMaps: configMapValues(configMaps, gateway),
    }
    const { config, problems } = resolve({ ...input, placement: 'cluster', now: 0 })
    const refused = acceptGateway(gateway, 'cluster').map(problem =>
      withLocation(problem, gateway, manifests),
    )
    return [
      ...refused,
      ...accessFindings({ config, gateway }, manifests),
      ...scriptProblems(validScripts, config, problems, manifests),
    ]
  }
  return [
    ...servers.flatMap(server => serverProblems(server, manifests)),
    ...scripts.flatMap(script =>
      scriptRefusals(script).map(problem => withLocation(problem, script.manifest, manifests)),
    ),
    ...checked.flatMap(gatewayProblems),
  ]
}

/** Why a gateway does not offer valid scripts that it selects, and servers that they name but the gateway does not have. */
function scriptProblems(
  scripts: readonly GivenScript[],
  config: RouterConfig,
  problems: readonly ResolveProblem[],
  manifests: readonly PlacedManifest[],
): Problem[] {
  return scripts.flatMap(({ manifest, inspected }) => {
    const { name } = manifest.metadata
    const isOffered = config.scripts?.some(script => script.name === name)
    const wrong = problems.filter(problem => problem.kind === 'McpScript' && problem.name === name)
    return [
      ...wrong.map(({ kind: _, name: __, ...problem }) => problem),
      ...(isOffered ? unknownTools(inspected.tools, config.servers.map(nameOf)).map(unknownTool) : []),
    ].map(problem => withLocation(problem, manifest, manifests))
  })
}

/** Without `tools`, which are not known here. */
function nameOf({ name }: RouterServer): { name: string } {
  return { name }
}

function serverProblems(server: McpServer, manifests: readonly PlacedManifest[]): Problem[] {
  return acceptServer(server, 'cluster').map(({ refuses: _, ...problem }) =>
    withLocation(problem, server, manifests),
  )
}
