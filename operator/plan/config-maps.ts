/** The ConfigMaps of a gateway: the feed of its routers, and what its sidecars are made of. Pure. */
import type { V1ConfigMap } from '@kubernetes/client-node'
import type { RouterFeed } from '../../core/catalog/feed.ts'
import { encodeFeed, FEED_FORMAT } from '../../core/catalog/feed-text.ts'
import { feedName } from '../../core/catalog/object-names.ts'
import type { Kube } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { ADMIN_PORT, gatewayObjectName, labelsOf, sidecarName } from './names.ts'
import type { OperatorSettings } from './settings.ts'

export function feedObject(
  { metadata: { name, namespace } }: McpGateway,
  feed: RouterFeed,
): Kube<V1ConfigMap> {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: feedName(name), namespace, labels: labelsOf('feed', name) },
    data: { format: FEED_FORMAT },
    binaryData: { feed: encodeFeed(feed).toString('base64') },
  }
}

/** The parameters of the admission policy that adds the sidecar to pods which ask for it. */
export function sidecarParams(
  { metadata: { name, namespace } }: McpGateway,
  { image, imagePullPolicy }: OperatorSettings,
): Kube<V1ConfigMap> {
  const catalogUrl = `http://${gatewayObjectName(name)}.${namespace}.svc:${ADMIN_PORT}`
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: sidecarName(name), namespace, labels: labelsOf('sidecar-params', name) },
    data: { gateway: name, image, imagePullPolicy, catalogUrl },
  }
}
