/** Starts a cluster's programs in its nodes, waits until they serve, and kills them. */
import { mkdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { kill, processesIn } from './cgroups.ts'
import type { Layout } from './layout.ts'
import { insideNode } from './namespace.ts'
import { logTail, spawnTracked, trackedCgroup } from './tracked.ts'

const POLL_MS = 50
const KILL_LIMIT_MS = 10_000

export type Daemon = {
  /** `apiserver`, `node2/kubelet` … */
  name: string
  node: number
  /** Its configuration: content by path, written before it starts. */
  files?: Record<string, string>
  /** The first word is the program's absolute path. */
  command: string[]
  /** Rejects as long as the program does not serve. */
  probe?: () => Promise<unknown>
}

/** Starts a program in its node's namespaces; it outlives this process. */
export async function startDaemon(layout: Layout, daemon: Daemon): Promise<void> {
  for (const [path, content] of Object.entries(daemon.files ?? {})) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
  await spawnTracked(layout, daemon.name, insideNode(layout, daemon.node, daemon.command))
}

/** Ids of the processes that run the daemon's program, without the processes that it started, such as the shims of pods. */
export function processesOf(layout: Layout, daemon: Daemon): number[] {
  return processesIn(trackedCgroup(layout, daemon.name)).filter(pid => executable(pid) === daemon.command[0])
}

export function isRunning(layout: Layout, daemon: Daemon): boolean {
  return processesOf(layout, daemon).length > 0
}

/** Ends a program by SIGKILL, as a crash would, and waits until it is gone. */
export async function killDaemon(layout: Layout, daemon: Daemon): Promise<void> {
  const end = performance.now() + KILL_LIMIT_MS
  for (let left = processesOf(layout, daemon); left.length > 0; left = processesOf(layout, daemon)) {
    if (performance.now() > end) throw new Error(`${daemon.name} does not end`)
    for (const pid of left) kill(pid)
    await sleep(POLL_MS)
  }
}

/** Waits until the daemon's probe passes; throws with the end of its log where it ended or took too long. */
export async function untilServing(layout: Layout, daemon: Daemon, limitSeconds: number): Promise<void> {
  const end = performance.now() + limitSeconds * 1_000
  for (;;) {
    const failure = await daemon.probe?.().then(
      () => undefined,
      error => error,
    )
    if (failure === undefined) return
    if (processesIn(trackedCgroup(layout, daemon.name)).length === 0) {
      throw new Error(`${daemon.name} ended:\n${logTail(layout, daemon.name)}`)
    }
    if (performance.now() > end) {
      const message = `${daemon.name} does not serve after ${limitSeconds} s:\n${logTail(layout, daemon.name)}`
      throw new Error(message, { cause: failure })
    }
    await sleep(POLL_MS)
  }
}

function executable(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch {
    return '' // gone meanwhile
  }
}
