/** Reads the admin pages of pods over HTTP, and their memory. */
import { readFileSync } from 'node:fs'
import type { V1Pod } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { podProcesses } from '../e2e/support/breaking.ts'
import type { Namespace } from '../e2e/support/namespace.ts'
import type { Portolan } from '../e2e/support/portolan.ts'
import { until } from '../support/until.ts'

const ADMIN_PORT = 8_081

export type Page = { get(path: string): Promise<string>; stop(): void }

async function openPage({ cluster }: Portolan, namespace: string, name: string, port: number): Promise<Page> {
  const forward = await cluster.forward({ namespace, name, port })
  const get = async (path: string) => (await fetch(`http://127.0.0.1:${forward.port}${path}`)).text()
  await until(`${name} can be reached`, () => get('/healthz'))
  return { get, stop: forward.stop }
}

/** The admin page of every pod of an instance, each through a separate Service. */
export async function pagesOf(
  portolan: Portolan,
  space: Namespace,
  instance: string,
  port = ADMIN_PORT,
): Promise<Page[]> {
  const pods = await space.pods(instance)
  return Promise.all(
    pods.map(async ({ metadata: { name } }, index) => {
      const service = `page-${index}`
      await portolan.kubectl(
        'label',
        '--overwrite',
        '--namespace',
        space.name,
        `pod/${name}`,
        `page=${service}`,
      )
      const spec = { selector: { page: service }, ports: [{ port }] }
      await space.apply({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: service },
        spec,
      } as KubeObject)
      return openPage(portolan, space.name, service, port)
    }),
  )
}

/** The sum of a metric over all label sets in the Prometheus text format. */
export function metricOf(text: string, name: string): number {
  const lines = text.split('\n').filter(line => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

/** Resident memory of the bridge in a server's pod, without its child process. */
export function bridgeMegabytes(clusterName: string, pod: Kube<V1Pod>): number {
  const bridges = podProcesses(clusterName, pod).filter(pid =>
    /bridge\.c?js/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8')),
  )
  const kilobytes = bridges.map(pid =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]),
  )
  return Math.round(Math.max(...kilobytes) / 1_000)
}
