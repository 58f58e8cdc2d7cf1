/** Control groups: the kernel's record of which processes belong to a cluster, whichever process started them. */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 20
const GONE_LIMIT_MS = 20_000
/** The kubelet needs these in its own cgroup, if the kernel has only cgroup v2. */
const V2_CONTROLLERS = ['cpuset', 'cpu', 'io', 'memory', 'hugetlb', 'pids']

type Hierarchy = { root: string; version: 1 | 2; controllers: string[] }

/** Makes a cgroup in every hierarchy, as the kubelet wants for its root. */
export function createCgroup(path: string): void {
  for (const { root, version } of hierarchies()) {
    mkdirSync(join(root, path), { recursive: true })
    if (version === 2) delegate(root, path)
  }
}

/** Makes a cgroup that only groups processes; returns its folder. A process enters by writing its id to `cgroup.procs`. */
export function createTrackedCgroup(path: string): string {
  const folder = join(trackingRoot(), path)
  mkdirSync(folder, { recursive: true })
  return folder
}

/** Ids of the living processes in a cgroup and all below it. */
export function processesIn(path: string): number[] {
  return foldersBelow(join(trackingRoot(), path)).flatMap(folder => {
    try {
      return readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number)
    } catch {
      return [] // removed meanwhile
    }
  })
}

/** Names of the cgroups right below a path of the tracking hierarchy. */
export function cgroupsIn(path: string): string[] {
  try {
    const entries = readdirSync(join(trackingRoot(), path), { withFileTypes: true })
    return entries.filter(entry => entry.isDirectory()).map(entry => entry.name)
  } catch {
    return []
  }
}

/** Kills everything in a cgroup and below, until nothing is left there. */
export async function killCgroup(path: string): Promise<void> {
  const end = performance.now() + GONE_LIMIT_MS
  for (;;) {
    const left = processesIn(path)
    if (left.length === 0) return
    if (performance.now() > end) throw new Error(`processes ${left.join(', ')} in ${path} do not end`)
    for (const pid of left) kill(pid)
    await sleep(POLL_MS)
  }
}

/** Removes a cgroup and all below it from every hierarchy. */
export async function removeCgroup(path: string): Promise<void> {
  const end = performance.now() + GONE_LIMIT_MS
  for (;;) {
    const left = cgroupFolders(path)
    if (left.length === 0) return
    if (performance.now() > end) throw new Error(`${left.join(', ')} cannot be removed`)
    for (const folder of left.reverse()) remove(folder)
    if (cgroupFolders(path).length > 0) await sleep(POLL_MS)
  }
}

/** Folders of a cgroup and all below it, in all hierarchies, parents first. */
export function cgroupFolders(path: string): string[] {
  return hierarchies().flatMap(({ root }) => foldersBelow(join(root, path)))
}

export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // gone meanwhile
  }
}

function hierarchies(): Hierarchy[] {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  return lines.flatMap(line => {
    const found = /^\S+ \S+ \S+ \S+ (\S+) .* - (cgroup2?) \S+ (\S+)$/.exec(line)
    if (!found?.[1]) return []
    const version = found[2] === 'cgroup2' ? 2 : 1
    return [{ root: found[1], version, controllers: (found[3] ?? '').split(',') }]
  })
}

/** The hierarchy in which pods and our own programs are found: that of the pids controller, where the kubelet puts pods, or the only one. */
function trackingRoot(): string {
  const all = hierarchies()
  const found = all.find(({ version, controllers }) => version === 1 && controllers.includes('pids'))
  const root = (found ?? all.find(({ version }) => version === 2))?.root
  if (!root) throw new Error('no cgroup hierarchy with the pids controller is mounted')
  return root
}

/** Enables the controllers for a cgroup of version 2; on a hybrid system they belong to version 1, and nothing is enabled. */
function delegate(root: string, path: string): void {
  const parts = path.split('/').filter(Boolean)
  for (const depth of parts.keys()) {
    for (const controller of V2_CONTROLLERS) {
      try {
        writeFileSync(join(root, ...parts.slice(0, depth), 'cgroup.subtree_control'), `+${controller}`)
      } catch {
        // not built into this kernel, or held by version 1
      }
    }
  }
}

function foldersBelow(folder: string): string[] {
  let entries: string[]
  try {
    entries = readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(entry => entry.name)
  } catch {
    return []
  }
  return [folder, ...entries.flatMap(name => foldersBelow(join(folder, name)))]
}

function remove(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // still busy, or removed meanwhile
  }
}
