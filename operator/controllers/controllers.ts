/** Creates all controllers of the operator with the state they share. */
import type { createConnector } from '../../core/mcp/client/connector.ts'
import type { connectSdkClient } from '../../core/mcp/client/sdk-client.ts'
import { createTokenCounter } from '../../core/tokens.ts'
import type { ControllerSet, OperatorContext } from '../operator.ts'
import { createApplier } from '../runtime/apply.ts'
import { DescriptionTokens } from './description-tokens.ts'
import { createDiscovery } from './discovery-controller.ts'
import { Targets } from './discovery-targets.ts'
import { createEncoding } from './encoding-controller.ts'
import { createGatewayControllers } from './gateway-controller.ts'
import { createManifests } from './parsed-manifests.ts'
import { Pins } from './pins.ts'
import { DISCOVERY_MANAGER, Publisher } from './publish.ts'
import { ReferenceIndex } from './reference-index.ts'
import { References } from './reference-reader.ts'
import { createServerController } from './server-controller.ts'
import { SliceSets } from './slice-sets.ts'

/** Replaces how servers and gateways are connected to. */
export type Connectors = { server?: typeof createConnector; gateway?: typeof connectSdkClient }

/** Call before the caches run: controllers learn of every existing object as a change. */
export function createControllers(context: OperatorContext, connectors: Connectors = {}): ControllerSet {
  const { client, caches, log, metrics, clock } = context
  const counter = createTokenCounter(clock)
  const countTokens = (texts: readonly string[]) => counter.count(texts)
  const tokens = new DescriptionTokens(countTokens)
  const manifests = createManifests()
  const index = new ReferenceIndex()
  const targets = new Targets()
  const slices = new SliceSets()
  const metadataOf = (kind: 'Secret' | 'ConfigMap', key: string) =>
    (kind === 'Secret' ? caches.secrets : caches.configMaps).get(key)
  const references = new References({ client, metadataOf })
  const applier = createApplier({ client, log, metrics, fieldManager: DISCOVERY_MANAGER })
  const encoding = createEncoding({ ...context, onDone: key => discovery.controller.queue.add(key) })
  const pins = new Pins({ client, caches, applier, log })
  const publisher = new Publisher({ client, caches, applier, tokens, encoding, pins, clock, metrics })
  const shared = { ...context, manifests, references, index, slices, tokens }

  caches.configMaps.onChange((before, now) => {
    const server = slices.take(before, now)
    if (server !== undefined) gateways.slicesChanged(server)
  })
  const server = createServerController({ ...shared, targets })
  const discovery = createDiscovery({
    ...shared,
    targets,
    publisher,
    encoding,
    countTokens,
    concurrency: context.discoveryConcurrency,
    connector: connectors.server,
  })
  const gateways = createGatewayControllers({ ...shared, connect: connectors.gateway })
  return {
    controllers: [server, discovery.controller, encoding.controller, ...gateways.controllers],
    async close() {
      await Promise.all([discovery.close(), encoding.close(), counter.close()])
    },
  }
}
