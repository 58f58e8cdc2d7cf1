/** The PersistentVolumeClaim that keeps the installed package of a server with `storage`. Pure. */
import { createHash } from 'node:crypto'
import type { V1PersistentVolumeClaim } from '@kubernetes/client-node'
import { canonicalJson } from '../../core/json.ts'
import type { Kube, ObjectRef } from '../../core/kube/object.ts'
import type { McpServer } from '../../crds/server.ts'
import type { Package } from './install-packages.ts'
import { labelsOf, packageClaimPrefix } from './names.ts'
import type { ServerWorld } from './plan.ts'

const HASH_CHARACTERS = 10

/**
 * Undefined for a server without `storage`. A volume holds one installation: another package, version, image or size gets another claim.
 * So files in use are never overwritten. A claim that exists is not written again: most of its fields are immutable, and others may expand it.
 */
export function packageClaim(
  { metadata: { name, namespace }, spec: { storage } }: McpServer,
  { image, args }: Package,
): Kube<V1PersistentVolumeClaim> | undefined {
  if (!storage) return undefined
  const { size, storageClassName, accessMode } = storage
  const hash = createHash('sha256').update(canonicalJson({ storage, image, args })).digest('hex')
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: `${packageClaimPrefix(name)}${hash.slice(0, HASH_CHARACTERS)}`,
      namespace,
      labels: labelsOf('server', name),
    },
    spec: {
      accessModes: [accessMode],
      resources: { requests: { storage: size } },
      ...(storageClassName !== undefined && { storageClassName }),
    },
  }
}

/**
 * Claims that must stay: those that pods use, and, until all pods have the same revision, those of the previous revision, whose pods may
 * be created again. `isWaiting`: the Deployment stays unchanged.
 */
export function claimsInUse(
  { claims, deployment, pods }: Pick<ServerWorld, 'claims' | 'deployment' | 'pods'>,
  isWaiting: boolean,
): ObjectRef[] {
  const {
    replicas = 0,
    updatedReplicas = 0,
    availableReplicas = 0,
    observedGeneration,
  } = deployment?.status ?? {}
  const isSettled =
    observedGeneration === deployment?.metadata.generation &&
    replicas === updatedReplicas &&
    replicas === availableReplicas
  if (!isSettled) return [...claims]
  const specs = [...pods.map(({ spec }) => spec), ...(isWaiting ? [deployment?.spec?.template.spec] : [])]
  const named = specs
    .flatMap(spec => spec?.volumes ?? [])
    .map(volume => volume.persistentVolumeClaim?.claimName)
  return claims.filter(({ name }) => named.includes(name))
}
