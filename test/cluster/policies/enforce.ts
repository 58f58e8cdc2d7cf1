/** Enforces the NetworkPolicies of a test cluster of one node, as a network plugin would: it follows pods and policies. */
import { setTimeout as sleep } from 'node:timers/promises'
import { KubeClient } from '../../../core/kube/client.ts'
import { kubeconfigAccess } from '../../../core/kube/kubeconfig.ts'
import type { OwnCluster } from '../cluster.ts'
import { type Networked, policyRules } from './rules.ts'

const EVERY_MS = 250
const EMPTY: Networked = { policies: [], pods: [], namespaces: [] }

export type Enforcement = {
  /** Lets everything through again. */
  stop(): Promise<void>
}

/** Resolves when the present policies are enforced; later changes are enforced within a second. */
export async function enforcePolicies(cluster: OwnCluster): Promise<Enforcement> {
  if (cluster.nodes.length !== 1) throw new Error('policies are enforced on a single node only')
  const client = new KubeClient(kubeconfigAccess({ file: cluster.kubeconfig }))
  const ended = new AbortController()
  let applied = ''
  const follow = async () => {
    const rules = policyRules(await read(client))
    if (rules === applied) return
    await cluster.node(1).run(['sh', '-c', 'printf %s "$1" | nft -f -', 'sh', rules])
    applied = rules
  }
  await follow()
  const following = (async () => {
    while (!ended.signal.aborted) {
      await sleep(EVERY_MS)
      await follow()
    }
  })()
  following.catch(() => {}) // `stop` rejects with it
  return {
    async stop() {
      ended.abort()
      await following
      await client.close()
      const rules = policyRules(EMPTY)
      await cluster.node(1).run(['sh', '-c', 'printf %s "$1" | nft -f -', 'sh', rules])
    },
  }
}

async function read(client: KubeClient): Promise<Networked> {
  const list = async (apiVersion: string, kind: string) => (await client.list({ apiVersion, kind })).items
  const [policies, pods, namespaces] = await Promise.all([
    list('networking.k8s.io/v1', 'NetworkPolicy'),
    list('v1', 'Pod'),
    list('v1', 'Namespace'),
  ])
  return { policies, pods, namespaces } as Networked
}
