/** Finds the pods of the operator in a cluster, and connects sockets of this machine to the console in one of them. */
import type { Socket } from 'node:net'
import type { V1Pod } from '@kubernetes/client-node'
import { CONSOLE_PORT } from '../core/console/cluster.ts'
import { Fault, messageOf } from '../core/errors.ts'
import type { Kube } from '../core/kube/object.ts'
import { isPodReady } from '../core/kube/pod.ts'
import { CommandError } from './command-error.ts'

export type OperatorPods = {
  /** Connects a socket to the console. If the pod is gone, tries another one. Throws a CommandError. */
  join(socket: Socket): Promise<void>
  /** Why the last connection was refused, if nothing listens in the pod. */
  refused(): string | undefined
  close(): Promise<void>
}

const ENABLED = 'console.enabled=true'
const LABELS = 'app.kubernetes.io/name=portolan,app.kubernetes.io/component=operator'

/** Throws a CommandError if there is no kubeconfig, no right to list pods, or no operator that is ready. */
export async function createOperatorPods(where: {
  namespace: string
  context?: string
}): Promise<OperatorPods> {
  const { namespace, context } = where
  const [{ KubeClient }, { kubeconfigAccess }, { createPortForwarder }] = await Promise.all([
    import('../core/kube/client.ts'),
    import('../core/kube/kubeconfig.ts'),
    import('../core/kube/port-forward.ts'),
  ])
  const access = readAccess(() => kubeconfigAccess({ context }))
  const client = new KubeClient(access)
  const forwarder = createPortForwarder(access)
  const find = async (): Promise<string> => {
    const query = { apiVersion: 'v1', kind: 'Pod', namespace, labelSelector: LABELS }
    const { items } = await client.list<Kube<V1Pod>>(query).catch(error => {
      throw new CommandError(`the pods of the namespace ${namespace} cannot be listed: ${messageOf(error)}`)
    })
    const pod = items.find(isReady)
    if (pod) return pod.metadata.name
    throw new CommandError(
      items.length === 0
        ? `there is no operator of Portolan in the namespace "${namespace}": --namespace names the one that it was installed in`
        : `no pod of the operator in the namespace "${namespace}" is ready: kubectl -n ${namespace} get pods says why`,
    )
  }
  let refused: string | undefined
  let pod: string | undefined
  const onRefused = (message: string) => {
    refused = `the operator serves no console: install the chart with ${ENABLED} (${message})`
  }
  try {
    pod = await find()
  } catch (error) {
    await client.close()
    throw error
  }
  return {
    refused: () => refused,
    close: () => client.close(),
    async join(socket) {
      const joinPod = (name: string) =>
        forwarder.join(socket, { namespace, pod: name, port: CONSOLE_PORT }, onRefused)
      try {
        pod ??= await find()
        await joinPod(pod)
      } catch (error) {
        pod = undefined
        if (!(error instanceof Fault) || error.code === 'bad_request') throw asCommandError(error)
        pod = await find()
        await joinPod(pod).catch(again => {
          throw asCommandError(again)
        })
      }
    },
  }
}

function readAccess<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new CommandError(messageOf(error))
  }
}

function asCommandError(error: unknown): CommandError {
  return error instanceof CommandError ? error : new CommandError(messageOf(error))
}

function isReady(pod: Kube<V1Pod>): boolean {
  return !pod.metadata.deletionTimestamp && isPodReady(pod)
}
