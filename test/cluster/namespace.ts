/** A node's own network and mounts: they live as long as its processes do, so nothing of them can be left behind. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { processesIn } from './cgroups.ts'
import { run } from './command.ts'
import { type Layout, nodeFolder, nodeName } from './layout.ts'
import { spawnTracked, trackedCgroup } from './tracked.ts'

const POLL_MS = 5
const ANCHOR_LIMIT_MS = 10_000

/** What the kubelet would set for the whole machine; it sees these values already set, in its own view of /proc. */
const KERNEL_SETTINGS = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
}

/** Gives the node its own version of the paths that containerd and the kubelet write to; the machine's stay as they are. */
const OWN_MOUNTS = `
set -e
mount --make-rshared /
mount -t tmpfs tmpfs /run
for place in lib log; do
  mount -t overlay overlay -o "lowerdir=/var/$place,upperdir=$0/var/$place/upper,workdir=$0/var/$place/work" "/var/$place"
done
for setting in "$@"; do mount --bind "$0/sys/$setting" "/proc/sys/$setting"; done
`

/** Makes a node's namespaces, held by a process that sleeps. */
export async function createNamespaces(layout: Layout, node: number): Promise<void> {
  const folder = nodeFolder(layout, node)
  for (const place of ['lib', 'log']) {
    for (const part of ['upper', 'work']) mkdirSync(join(folder, 'var', place, part), { recursive: true })
  }
  for (const [setting, value] of Object.entries(KERNEL_SETTINGS)) {
    mkdirSync(join(folder, 'sys', setting, '..'), { recursive: true })
    writeFileSync(join(folder, 'sys', setting), `${value}\n`)
  }
  const unshare = ['unshare', '--net', '--mount', '--propagation', 'private', 'sleep', 'infinity']
  await untilAnchored(await spawnTracked(layout, anchorName(node), unshare))
  await run(insideNode(layout, node, ['sh', '-c', OWN_MOUNTS, folder, ...Object.keys(KERNEL_SETTINGS)]))
}

/** The command as it runs in a node's network and mounts. */
export function insideNode(layout: Layout, node: number, command: readonly string[]): string[] {
  return ['nsenter', '--target', String(anchorOf(layout, node)), '--net', '--mount', '--', ...command]
}

/** The command as it runs in a node's network, with the machine's files. */
export function insideNetwork(layout: Layout, node: number, command: readonly string[]): string[] {
  return ['nsenter', '--target', String(anchorOf(layout, node)), '--net', '--', ...command]
}

/** Process id that holds a node's namespaces. */
export function anchorOf(layout: Layout, node: number): number {
  const [pid] = processesIn(trackedCgroup(layout, anchorName(node)))
  if (pid === undefined) throw new Error(`cluster ${layout.name} has no running ${nodeName(node)}`)
  return pid
}

function anchorName(node: number): string {
  return `${nodeName(node)}/anchor`
}

/** The namespaces exist once the process has become `sleep`. */
async function untilAnchored(pid: number): Promise<void> {
  const end = performance.now() + ANCHOR_LIMIT_MS
  while (readFileSync(`/proc/${pid}/comm`, 'utf8') !== 'sleep\n') {
    if (performance.now() > end) throw new Error('no namespaces: unshare does not end; are you root?')
    await sleep(POLL_MS)
  }
}
