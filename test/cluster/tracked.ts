/** Starts detached processes, each in its own cgroup, by which any later process can find and end them. */
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTrackedCgroup, processesIn } from './cgroups.ts'
import { cgroupOf, type Layout, logFile } from './layout.ts'

const POLL_MS = 2
const LOG_TAIL_CHARACTERS = 3_000
const ENTER_CGROUP = 'echo $$ > "$0/cgroup.procs" && exec "$@"'

/** Starts a detached command in the cgroup of that name, with its output added to the log of that name. */
export async function spawnTracked(
  layout: Layout,
  name: string,
  command: readonly string[],
): Promise<number> {
  const [file = '', ...args] = trackedCommand(layout, name, command)
  const log = openSync(logFile(layout, name), 'a')
  // not the user's environment, which may name a proxy
  const env = { PATH: process.env.PATH, HOME: layout.folder }
  const child = spawn(file, args, { detached: true, stdio: ['ignore', log, log], env })
  closeSync(log)
  child.unref()
  while (child.pid === undefined || !processesIn(trackedCgroup(layout, name)).includes(child.pid)) {
    if (child.pid === undefined || child.exitCode !== null) throw new Error(`${name} did not start`)
    await sleep(POLL_MS)
  }
  return child.pid
}

/** The command as it runs in the cgroup of that name. */
export function trackedCommand(layout: Layout, name: string, command: readonly string[]): string[] {
  return ['sh', '-c', ENTER_CGROUP, createTrackedCgroup(trackedCgroup(layout, name)), ...command]
}

export function trackedCgroup(layout: Layout, name: string): string {
  return `${cgroupOf(layout.name)}/daemons/${name.replaceAll('/', '-')}`
}

/** The end of what a process of that name wrote. */
export function logTail(layout: Layout, name: string): string {
  return readFileSync(logFile(layout, name), 'utf8').slice(-LOG_TAIL_CHARACTERS)
}
