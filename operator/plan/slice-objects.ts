/** The ConfigMaps that carry a server catalog. Pure. */
import type { V1ConfigMap } from '@kubernetes/client-node'
import { sliceName } from '../../core/catalog/object-names.ts'
import type { Slice } from '../../core/catalog/slices.ts'
import { canonicalJson } from '../../core/json.ts'
import type { Kube } from '../../core/kube/object.ts'
import type { McpServer } from '../../crds/server.ts'
import { ANNOTATION, labelsOf } from './names.ts'

/** One ConfigMap per slice, in the order of the parts. */
export function sliceObjects({ metadata }: McpServer, slices: readonly Slice[]): Kube<V1ConfigMap>[] {
  return slices.map(({ header, payload }) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: sliceName(metadata.name, header.part),
      namespace: metadata.namespace,
      labels: labelsOf('catalog', metadata.name),
      annotations: {
        [ANNOTATION.catalogDigest]: header.digest,
        [ANNOTATION.catalogParts]: String(header.parts),
      },
    },
    data: { header: canonicalJson(header) },
    binaryData: { catalog: payload.toString('base64') },
  }))
}
