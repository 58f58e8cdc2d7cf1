/** Ways to break a running cluster on purpose. */
import type { V1Lease, V1Pod } from '@kubernetes/client-node'
import type { Kube } from '../../../core/kube/object.ts'
import { kill, processesIn } from '../../cluster/cgroups.ts'
import { cgroupOf } from '../../cluster/layout.ts'
import { type Portolan, SYSTEM } from './portolan.ts'

/** The cgroups of the QoS classes. */
const QOS_CGROUPS = ['kubepods', 'kubepods/burstable', 'kubepods/besteffort']
const LEASE = 'portolan-operator'

/** Ends every process of a pod by SIGKILL, from outside, like the crash of a machine. */
export function killPod(clusterName: string, pod: Kube<V1Pod>): void {
  const pids = podProcesses(clusterName, pod)
  if (pids.length === 0) throw new Error(`no process of pod ${pod.metadata.name}`)
  for (const pid of pids) kill(pid)
}

/** Process ids of a pod, as this machine knows them. */
export function podProcesses(clusterName: string, pod: Kube<V1Pod>): number[] {
  const node = `${cgroupOf(clusterName)}/${pod.spec?.nodeName}`
  return QOS_CGROUPS.flatMap(qos => processesIn(`${node}/${qos}/pod${pod.metadata.uid}`))
}

/** Name of the pod whose operator leads. */
export async function leaderOf({ client }: Portolan): Promise<string | undefined> {
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: SYSTEM, name: LEASE }
  return (await client.get<Kube<V1Lease>>(lease))?.spec?.holderIdentity
}

/** Ends the operator that leads. */
export async function killLeader(portolan: Portolan): Promise<string> {
  const leader = await leaderOf(portolan)
  const { items } = await portolan.client.list<Kube<V1Pod>>({
    apiVersion: 'v1',
    kind: 'Pod',
    namespace: SYSTEM,
  })
  const pod = items.find(({ metadata }) => leader?.startsWith(metadata.name))
  if (!pod) throw new Error(`no pod of the leader ${leader}`)
  killPod(portolan.cluster.name, pod)
  return leader ?? ''
}
