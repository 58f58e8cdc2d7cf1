/** Finds processes by a mark in their command line, to check that none is left. Linux only. */
import { readdirSync, readFileSync } from 'node:fs'
import { delay, systemClock } from '../../core/async.ts'

/** Ids of the running processes whose command line contains `mark`. */
export function marked(mark: string): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => pid !== process.pid && commandLine(pid).includes(mark))
}

/** Waits until no process has the mark; returns those that are still running at the deadline. */
export async function untilGone(mark: string, deadlineMs = 15_000): Promise<number[]> {
  const end = performance.now() + deadlineMs
  while (performance.now() < end && marked(mark).length > 0) await delay(systemClock, 20)
  return marked(mark)
}

function commandLine(pid: number): string {
  try {
    const state = /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return state === 'Z' ? '' : readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
