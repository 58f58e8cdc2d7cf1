/** An npm registry and a PyPI index inside the network of a test cluster, which has no internet access. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { cacheFolder } from '../../local/config.ts'
import type { OwnCluster } from '../cluster/cluster.ts'
import { readyPackages } from './packages.ts'
import { NPM_PORT, PYPI_PORT } from './registry-server.ts'

export type Registry = {
  /** For npm's setting `registry`. */
  npm: string
  /** For pip's setting `index-url`. */
  pypi: string
  stop(): Promise<void>
}

/** Starts both. Fetches the packages first if they are not in the cache. */
export async function startRegistry(
  cluster: Pick<OwnCluster, 'addresses' | 'inside' | 'run'>,
  say: (line: string) => void = () => {},
): Promise<Registry> {
  const { control } = cluster.addresses
  const host = isIPv6(control) ? await nameFor(cluster, control) : control
  const folder = await readyPackages(join(cacheFolder(process.env), 'registry'), say)
  const server = join(import.meta.dirname, 'registry-server.ts')
  const node = [process.execPath, '--disable-warning=ExperimentalWarning']
  const {
    command: [file = '', ...args],
    env,
  } = cluster.inside([...node, server, folder, control])
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } })
  const ended = once(child, 'exit')
  const started = await Promise.race([once(child.stdout, 'data'), ended.then(() => undefined)])
  if (!started) throw new Error('the package registry did not start')
  return {
    npm: `http://${host}:${NPM_PORT}/`,
    pypi: `http://${host}:${PYPI_PORT}/simple/`,
    async stop() {
      child.stdin.end()
      await ended
    },
  }
}

/** npm mistakes an IPv6 address in a URL for a name, so a Service gives the address a name. */
async function nameFor({ run }: Pick<OwnCluster, 'run'>, address: string): Promise<string> {
  const metadata = { name: 'packages', namespace: 'default' }
  const ports = [NPM_PORT, PYPI_PORT].map(port => ({ name: `port-${port}`, port }))
  const items = [
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': metadata.name } },
      addressType: 'IPv6',
      endpoints: [{ addresses: [address] }],
      ports,
    },
  ]
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await run(['kubectl', 'apply', '--filename', '-'], { input })
  return `${metadata.name}.${metadata.namespace}.svc`
}
