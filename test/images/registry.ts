/** An npm registry and a PyPI index inside the network of a test cluster, which has no internet access. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { cacheFolder } from '../../local/config.ts'
import type { OwnCluster } from '../cluster/cluster.ts'
import { CONTROL_ADDRESS } from '../cluster/layout.ts'
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
  cluster: Pick<OwnCluster, 'inside'>,
  say: (line: string) => void = () => {},
): Promise<Registry> {
  const folder = await readyPackages(join(cacheFolder(process.env), 'registry'), say)
  const server = join(import.meta.dirname, 'registry-server.ts')
  const node = [process.execPath, '--disable-warning=ExperimentalWarning']
  const {
    command: [file = '', ...args],
    env,
  } = cluster.inside([...node, server, folder, CONTROL_ADDRESS])
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } })
  const ended = once(child, 'exit')
  const started = await Promise.race([once(child.stdout, 'data'), ended.then(() => undefined)])
  if (!started) throw new Error('the package registry did not start')
  return {
    npm: `http://${CONTROL_ADDRESS}:${NPM_PORT}/`,
    pypi: `http://${CONTROL_ADDRESS}:${PYPI_PORT}/simple/`,
    async stop() {
      child.stdin.end()
      await ended
    },
  }
}
