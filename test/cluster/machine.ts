/** What a machine must have to build and run a cluster. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { run } from './command.ts'

const FOR_RUNNING = ['ip', 'ldd', 'mount', 'nft', 'nsenter', 'openssl', 'sysctl', 'unshare']
const FOR_BUILDING = ['gcc', 'go', 'pkg-config']
const DEBIAN =
  'on Debian: apt-get install -y gcc golang iproute2 libseccomp-dev nftables openssl pkg-config procps util-linux'

/** Why no cluster can run here, as a sentence; undefined where it can. */
export function obstacleToRunning(path = process.env.PATH ?? ''): string | undefined {
  if (process.platform !== 'linux')
    return `a cluster of our own runs on Linux only, not on ${process.platform}`
  if (process.getuid?.() !== 0) return 'a cluster of our own needs root, for namespaces and mounts'
  const absent = FOR_RUNNING.filter(tool => !isOnPath(tool, path))
  return absent.length > 0 ? `${absent.join(', ')} not found; ${DEBIAN}` : undefined
}

/** Why its programs cannot be built here, as a sentence; undefined where they can. */
export async function obstacleToBuilding(path = process.env.PATH ?? ''): Promise<string | undefined> {
  const absent = FOR_BUILDING.filter(tool => !isOnPath(tool, path))
  if (absent.length > 0) return `${absent.join(', ')} not found; ${DEBIAN}`
  const seccomp = await run(['pkg-config', '--exists', 'libseccomp']).catch(() => undefined)
  return seccomp === undefined ? `libseccomp not found; ${DEBIAN}` : undefined
}

function isOnPath(tool: string, path: string): boolean {
  return path.split(delimiter).some(folder => {
    try {
      accessSync(join(folder, tool), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
