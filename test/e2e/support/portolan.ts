/** Portolan on a real cluster: images imported, the chart installed with helm, namespaces to work in. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeClient } from '../../../core/kube/client.ts'
import { kubeconfigAccess } from '../../../core/kube/kubeconfig.ts'
import { type OwnCluster, startCluster } from '../../cluster/cluster.ts'
import type { Family } from '../../cluster/layout.ts'
import { buildImages, imageFolder } from '../../images/build.ts'
import { startRegistry } from '../../images/registry.ts'
import { inNamespace, type Namespace, openNamespace } from './namespace.ts'

const CHART = join(import.meta.dirname, '..', '..', '..', 'charts', 'portolan')
export const SYSTEM = 'portolan-system'
const RELEASE = 'portolan'

export type Portolan = {
  cluster: OwnCluster
  client: KubeClient
  /** Where the operator runs. */
  system: Namespace
  /** Makes a namespace under the strictest pod security, for as long as a test takes. */
  namespace(name: string, test?: { after(end: () => Promise<unknown>): void }): Promise<Namespace>
  kubectl(...args: string[]): Promise<string>
  helm(...args: string[]): Promise<string>
  /** Upgrades to the current chart and image, as users do; resolves when the operator is ready. */
  upgrade(): Promise<void>
  /** Ends the cluster with everything in it. */
  stop(): Promise<void>
}

export type Values = Record<string, unknown>

/** A chart, and the values that it needs in a test. Default: the current chart. */
type Chart = { path: string; values: Values }
type Options = {
  values?: Values
  chart?: Chart
  /** Further archives of images. */
  imported?: readonly string[]
  say?: (line: string) => void
}

/** Starts a cluster and installs Portolan; `stop` ends both. */
export async function startPortolan(
  options: Options & { nodes?: number; family?: Family } = {},
): Promise<Portolan> {
  const { nodes = 1, family, say = line => void process.stderr.write(`${line}\n`) } = options
  const cluster = await startCluster({ nodes, family, say })
  try {
    return await installPortolan(cluster, { ...options, say })
  } catch (error) {
    await cluster.stop()
    throw error
  }
}

/** Imports the images and installs the chart, as users do; resolves when the operator is ready. */
export async function installPortolan(cluster: OwnCluster, options: Options = {}): Promise<Portolan> {
  const { values, chart, imported = [], say = () => {} } = options
  const built = Object.values(await buildImages(imageFolder()))
  for (const archive of [...built, ...imported]) await cluster.importImage(archive)
  say('images imported')
  const registry = await startRegistry(cluster)
  const present = { path: CHART, values: { ...testValues(cluster, registry), ...values } }
  const portolan = connect(cluster, registry.stop, present)
  try {
    await install(portolan, chart ?? present)
  } catch (error) {
    await portolan.client.close()
    await registry.stop()
    throw error
  }
  say('operator ready')
  return portolan
}

/** What differs from a real installation: images and packages come from this machine. */
function testValues({ addresses }: OwnCluster, registry: { npm: string; pypi: string }): Values {
  return {
    image: { tag: 'test' },
    tokenReview: { enabled: true },
    servers: {
      // CoreDNS is a process of the node here, not a pod
      dns: [{ ipBlock: { cidr: `${addresses.control}/${addresses.prefix.single}` } }],
      npm: { image: 'portolan-test/node:24', registry: registry.npm },
      pypi: { image: 'portolan-test/python:3', index: registry.pypi },
    },
  }
}

function connect(cluster: OwnCluster, stopRegistry: () => unknown, present: Chart): Portolan {
  const client = new KubeClient(kubeconfigAccess({ file: cluster.kubeconfig }))
  const kubectl = (...args: string[]) => cluster.run(['kubectl', ...args])
  const helm = (...args: string[]) => cluster.run(['helm', ...args])
  return {
    cluster,
    client,
    kubectl,
    helm,
    system: inNamespace(SYSTEM, client, cluster),
    upgrade: () => install({ helm }, present),
    async namespace(name, test) {
      test?.after(() => kubectl('delete', 'namespace', name, '--wait=false'))
      return openNamespace(name, client, cluster)
    },
    async stop() {
      await client.close()
      await stopRegistry()
      await cluster.stop()
    },
  }
}

async function install({ helm }: Pick<Portolan, 'helm'>, { path, values }: Chart): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-e2e-'))
  try {
    const file = join(folder, 'values.json')
    writeFileSync(file, JSON.stringify(values))
    const place = ['--namespace', SYSTEM, '--create-namespace']
    await helm('upgrade', '--install', RELEASE, path, ...place, '--values', file, '--wait', '--timeout', '2m')
  } finally {
    rmSync(folder, { recursive: true })
  }
}
