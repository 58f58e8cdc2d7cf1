/** Ends clusters and proves that nothing of them is left. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cgroupFolders, cgroupsIn, killCgroup, processesIn, removeCgroup } from './cgroups.ts'
import { cgroupOf } from './layout.ts'

/** The name has the id of the test's process, so that later tests find the clusters of killed ones. */
const TEST_CLUSTER = /^test-(\d+)$/
const PREFIX = cgroupOf('').slice(1)

export function testClusterName(): string {
  return `test-${process.pid}`
}

/** Ends a cluster, however much of it there is: its namespaces and mounts end with its last process. */
export async function endCluster(folder: string, name: string): Promise<void> {
  await killCgroup(cgroupOf(name))
  await removeCgroup(cgroupOf(name))
  rmSync(join(folder, name), { recursive: true, force: true })
}

/** Ends the clusters whose test process is gone; returns their names. */
export async function endOrphans(folder: string): Promise<string[]> {
  const orphans = clusterNames(folder).filter(name => {
    const owner = TEST_CLUSTER.exec(name)?.[1]
    return owner !== undefined && !existsSync(`/proc/${owner}`)
  })
  for (const name of orphans) await endCluster(folder, name)
  return orphans
}

/** Clusters that have a cgroup or a folder. */
export function clusterNames(folder: string): string[] {
  const running = cgroupsIn('/').flatMap(name => (name.startsWith(PREFIX) ? [name.slice(PREFIX.length)] : []))
  return [...new Set([...running, ...(existsSync(folder) ? readdirSync(folder) : [])])].sort()
}

/** What there still is of a cluster, each as a sentence. */
export function leftOvers(folder: string, name: string): string[] {
  const own = join(folder, name)
  return [
    ...processesIn(cgroupOf(name)).map(pid => `process ${pid} in its cgroup`),
    ...processesThatName(own).map(pid => `process ${pid} that names its folder`),
    ...mountsBelow(own).map(mount => `mount ${mount}`),
    ...cgroupFolders(cgroupOf(name)).map(path => `cgroup ${path}`),
    ...(existsSync(own) ? [`folder ${own}`] : []),
  ]
}

function processesThatName(folder: string): string[] {
  return readdirSync('/proc').filter(name => {
    if (!/^\d+$/.test(name) || name === String(process.pid)) return false
    try {
      return readFileSync(join('/proc', name, 'cmdline'), 'utf8').includes(folder)
    } catch {
      return false // gone meanwhile
    }
  })
}

function mountsBelow(folder: string): string[] {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  return lines.flatMap(line => (line.includes(folder) ? [line] : []))
}
