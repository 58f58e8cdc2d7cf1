/** Asks the routers of all gateways of a namespace, through their pods. */
import type { V1Pod } from '@kubernetes/client-node'
import { systemClock } from '../core/async.ts'
import { deadline } from '../core/deadline.ts'
import { Fault, messageOf } from '../core/errors.ts'
import type { Access } from '../core/kube/access.ts'
import { KubeClient } from '../core/kube/client.ts'
import { findAccess } from '../core/kube/config.ts'
import type { Kube } from '../core/kube/object.ts'
import { requestOfPod } from '../core/kube/pod-request.ts'
import { ADMIN_PORT, LABEL, selectorOf } from '../operator/plan/names.ts'
import { CommandError } from './command-error.ts'

const ANSWER_TIMEOUT_MS = 10_000

/** A cluster and one of its namespaces. */
export type Place = { access: Access; client: KubeClient; namespace: string }

/** Finds the cluster. The caller has to close its client. Throws a CommandError if there is no usable kubeconfig. */
export async function placeIn(options: { namespace?: string; context?: string }): Promise<Place> {
  const access = await findAccess({ context: options.context }).catch(error => {
    throw new CommandError(messageOf(error))
  })
  const client = new KubeClient(access)
  return { access, client, namespace: options.namespace ?? client.namespace }
}

/** The lists of all routers at this path, joined. `what` names the items in the CommandError if a router does not have the path. */
export async function listedByRouters<T>(place: Place, path: string, what: string): Promise<T[]> {
  const answers = await atRouters(place, 'GET', path)
  return answers.flatMap(({ status, text }) => {
    if (status === 200) return JSON.parse(text) as T[]
    throw new CommandError(`the routers do not show ${what}: they are of an earlier version`)
  })
}

/** Deletes `path/names…` at all routers. Resolves with whether any of them had it. Throws a CommandError. */
export async function deleteAtRouters(place: Place, path: string, ...names: string[]): Promise<boolean> {
  const answers = await atRouters(place, 'DELETE', [path, ...names.map(encodeURIComponent)].join('/'))
  return answers.some(({ status }) => status === 204)
}

/** Sends a request to every running router of the namespace, except those that are being deleted, which may end before they answer. */
async function atRouters({ access, client, namespace }: Place, method: 'GET' | 'DELETE', path: string) {
  const labelSelector = `${LABEL.component}=${selectorOf('router', '')[LABEL.component]}`
  const { items } = await client.list<Kube<V1Pod>>({
    apiVersion: 'v1',
    kind: 'Pod',
    namespace,
    labelSelector,
  })
  const running = items.filter(
    ({ metadata, status }) => !metadata.deletionTimestamp && status?.phase === 'Running',
  )
  if (running.length === 0) throw new CommandError(`no gateway runs in the namespace "${namespace}"`)
  const limit = deadline(systemClock, ANSWER_TIMEOUT_MS, 'The routers do not answer in time')
  try {
    return await Promise.all(
      running.map(({ metadata: { name: pod } }) =>
        requestOfPod(access, { namespace, pod, port: ADMIN_PORT, method, path }, limit.signal),
      ),
    )
  } catch (error) {
    throw error instanceof Fault ? new CommandError(error.message) : error
  } finally {
    limit.clear()
  }
}
