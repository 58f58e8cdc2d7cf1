/** The ConfigMap that feeds the routers of a gateway. Pure. */
import type { V1ConfigMap } from '@kubernetes/client-node'
import { FEED_FORMAT } from '../../core/catalog/feed-text.ts'
import { feedName } from '../../core/catalog/object-names.ts'
import type { Kube } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { labelsOf } from './names.ts'

/** `feed` is encoded. */
export function feedObject({ metadata: { name, namespace } }: McpGateway, feed: Buffer): Kube<V1ConfigMap> {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: feedName(name), namespace, labels: labelsOf('feed', name) },
    data: { format: FEED_FORMAT },
    binaryData: { feed: feed.toString('base64') },
  }
}
