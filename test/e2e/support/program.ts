/** A program of a test in a pod, and a Service that leads to it. */
import type { V1Pod } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../../core/kube/object.ts'
import { agentPod } from './agent.ts'

/** Runs a command, in the agents' image unless another is named. */
export function programPod(name: string, command: string[], image?: string): KubeObject {
  const made = agentPod(name, { labels: { app: name } }) as Kube<V1Pod>
  const [container] = made.spec?.containers ?? []
  if (!container) throw new Error('an agent has a container')
  Object.assign(container, { command, args: [], ...(image && { image }) })
  return made as KubeObject
}

/** Runs a script in Node. */
export function scriptPod(name: string, script: string): KubeObject {
  return programPod(name, ['/usr/local/bin/node', '--eval', script])
}

/** Leads to the pod of that name. */
export function service(name: string, port: number): KubeObject {
  const spec = { selector: { app: name }, ports: [{ port }] }
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec } as KubeObject
}
