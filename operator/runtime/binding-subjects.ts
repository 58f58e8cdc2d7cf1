/** Writes the subjects of one ClusterRoleBinding. Everything else in it belongs to the chart, which alone creates and deletes it. */
import type { RbacV1Subject, V1ClusterRoleBinding } from '@kubernetes/client-node'
import { Fault } from '../../core/errors.ts'
import { canonicalJson } from '../../core/json.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import type { Log } from '../../core/log.ts'
import type { OperatorMetrics } from './operator-metrics.ts'

const BINDING = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding' }

export type BindingWriterOptions = {
  client: Pick<KubeClient, 'get' | 'apply'>
  log: Log
  metrics: OperatorMetrics
  fieldManager: string
  /** Whether existing subjects of this namespace stay. */
  keeps(namespace: string | undefined): boolean
}

/**
 * Makes `given`, and those that it keeps, the only subjects of the ClusterRoleBinding `name`; writes nothing if they already are. Rejects with a Fault if the binding
 * does not exist or may not be written.
 */
export async function writeBindingSubjects(
  { client, log, metrics, fieldManager, keeps }: BindingWriterOptions,
  name: string,
  given: readonly RbacV1Subject[],
  signal: AbortSignal,
): Promise<void> {
  const found = await client.get<Kube<V1ClusterRoleBinding>>({ ...BINDING, name }, signal)
  if (!found)
    throw new Fault('not_found', `The ClusterRoleBinding ${name} does not exist: install the chart again`)
  const existing = found.subjects?.map(plain) ?? []
  const subjects = [...existing.filter(({ namespace }) => keeps(namespace)), ...given]
  if (canonicalJson(existing) === canonicalJson(subjects)) return
  // With the uid, the API server answers with a conflict if the binding was deleted meanwhile, and does not create it again.
  const metadata = { name, uid: found.metadata.uid }
  await client.apply({ ...BINDING, metadata, subjects } as KubeObject, { fieldManager, force: true }, signal)
  metrics.wrote(BINDING.kind, 'apply')
  log.info({ name, subjects: subjects.length }, 'changed the subjects of a ClusterRoleBinding')
}

/** The subject without its apiGroup, which the API server may add. */
function plain({ kind, name, namespace }: RbacV1Subject): RbacV1Subject {
  return { kind, name, namespace }
}
