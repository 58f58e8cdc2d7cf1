/** Whether discovery can connect to a server: its pods are ready and run the template that was applied last. Pure. */
import type { V1Deployment } from '@kubernetes/client-node'
import { serverObjectName } from '../../core/catalog/object-names.ts'
import type { Kube } from '../../core/kube/object.ts'
import { revisionOf } from '../plan/template.ts'
import type { Caches } from '../runtime/caches.ts'
import type { Target } from './discovery-targets.ts'

/** `updating`: pods of an older template may answer, or the caches do not have the newest one yet. */
export type Serving = 'serving' | 'updating' | 'down'

/** A server without pods (a remote one) is always `serving`. */
export function servingOf({ server, revision }: Target, caches: Pick<Caches, 'deployments'>): Serving {
  if (revision === undefined) return 'serving'
  const { namespace, name } = server.metadata
  const deployment = caches.deployments.get(`${namespace}/${serverObjectName(name)}`)
  return deployment ? stateOf(deployment, revision) : 'down'
}

function stateOf({ metadata, spec, status }: Kube<V1Deployment>, revision: string): Serving {
  // A server that is being scaled to zero still answers, but not for long.
  if (!status?.readyReplicas || spec?.replicas === 0) return 'down'
  const isNewest = spec !== undefined && revisionOf(spec.template) === revision
  const isObserved = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0)
  const isRolledOut = status.updatedReplicas === status.replicas
  return isNewest && isObserved && isRolledOut ? 'serving' : 'updating'
}
