/** Creates all controllers of the operator with the state that they share. */
import type { createConnector } from '../../core/mcp/client/connector.ts'
import type { connectSdkClient } from '../../core/mcp/client/sdk-client.ts'
import { createTokenCounter } from '../../core/tokens.ts'
import type { ControllerSet, OperatorContext } from '../operator.ts'
import { createApplier } from '../runtime/apply.ts'
import { createCertificateKeeper } from '../runtime/ensure-certificate.ts'
import { createPodLabeller } from '../runtime/label-pod.ts'
import { Certificates } from './certificates.ts'
import { Demand } from './demand.ts'
import { createDemandController } from './demand-controller.ts'
import { DescriptionTokens } from './description-tokens.ts'
import { createDiscovery } from './discovery-controller.ts'
import { discoveryGuard } from './discovery-guard.ts'
import { Targets } from './discovery-targets.ts'
import { createEncoding } from './encoding-controller.ts'
import { createGatewayControllers } from './gateway-controller.ts'
import { createKeptLogins } from './kept-logins.ts'
import { PackageRecords } from './package-records.ts'
import { createManifests } from './parsed-manifests.ts'
import { Pins } from './pins.ts'
import { DISCOVERY_MANAGER, Publisher } from './publish.ts'
import { ReferenceIndex } from './reference-index.ts'
import { References } from './reference-reader.ts'
import { createScriptController } from './script-controller.ts'
import { createServerController, SERVER_MANAGER } from './server-controller.ts'
import { SliceSets } from './slice-sets.ts'
import { createTokenReviewController } from './token-review-controller.ts'
import { Turns } from './turns.ts'

/** The clients that connect to servers and gateways, which tests replace. */
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
    if (server === undefined) return
    gateways.slicesChanged(server)
    scripts.slicesChanged(server)
  })
  const writer = createApplier({ client, log, metrics, fieldManager: SERVER_MANAGER })
  const packages = new PackageRecords({ client, caches, applier: writer, log })
  const keep = createCertificateKeeper({ client, log, metrics, fieldManager: SERVER_MANAGER })
  const certificates = new Certificates({ client, caches, keep })
  const labelPod = createPodLabeller(client, metrics)
  const turns = new Turns(caches.deployments, context.settings.waves)
  const demand = new Demand()
  const parts = { targets, packages, certificates, turns, labelPod, demand }
  const server = createServerController({ ...shared, ...parts })
  const demandController = createDemandController({ ...shared, demand, logins: createKeptLogins(shared) })
  const discovery = createDiscovery({
    ...shared,
    targets,
    publisher,
    encoding,
    countTokens,
    concurrency: context.discoveryConcurrency,
    connector: connectors.server,
    guard: discoveryGuard(context),
  })
  const gateways = createGatewayControllers({ ...shared, connect: connectors.gateway })
  const scripts = createScriptController(shared)
  const reviews = createTokenReviewController(shared)
  return {
    controllers: [
      server,
      ...[discovery, encoding, scripts, demandController].map(({ controller }) => controller),
      ...gateways.controllers,
      ...(reviews ? [reviews] : []),
    ],
    async close() {
      demandController.close()
      await Promise.all([discovery.close(), encoding.close(), counter.close()])
    },
  }
}
