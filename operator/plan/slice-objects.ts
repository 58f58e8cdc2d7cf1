/** The ConfigMaps that carry a server catalog. Pure. */
import type { V1ConfigMap } from '@kubernetes/client-node'
import { approvedName, sliceName } from '../../core/catalog/object-names.ts'
import type { Slice } from '../../core/catalog/slices.ts'
import { canonicalJson } from '../../core/json.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import type { McpServer } from '../../crds/server.ts'
import { ANNOTATION, type Component, labelsOf } from './names.ts'

/** One ConfigMap per slice, in the order of the parts. */
export function sliceObjects(server: McpServer, slices: readonly Slice[]): Kube<V1ConfigMap>[] {
  return configMapsOf(server, slices, 'catalog', sliceName)
}

/** The same for the approved tools of a server, which no router reads. */
export function approvedObjects(server: McpServer, slices: readonly Slice[]): Kube<V1ConfigMap>[] {
  return configMapsOf(server, slices, 'approved', approvedName)
}

/** Whether a ConfigMap contains approved tools of the server, judging by its name without the number of the part. */
export function isApprovedToolsConfigMap({ metadata }: KubeObject, server: string): boolean {
  return metadata.name.startsWith(approvedName(server, 0).slice(0, -1))
}

function configMapsOf(
  { metadata }: McpServer,
  slices: readonly Slice[],
  component: Component,
  nameOf: (server: string, part: number) => string,
): Kube<V1ConfigMap>[] {
  return slices.map(({ header, payload }) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: nameOf(metadata.name, header.part),
      namespace: metadata.namespace,
      labels: labelsOf(component, metadata.name),
      annotations: {
        [ANNOTATION.catalogDigest]: header.digest,
        [ANNOTATION.catalogParts]: String(header.parts),
      },
    },
    data: { header: canonicalJson(header) },
    binaryData: { catalog: payload.toString('base64') },
  }))
}
