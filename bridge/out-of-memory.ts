/** How often the kernel killed a process of this container for lack of memory. */
import { readFile } from 'node:fs/promises'

/** In a container these are its own cgroup's, of version 2 and of version 1. */
const COUNTER_FILES = ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control']

/** 0 outside of a container, or if the kernel does not say. */
export async function memoryKills(files: readonly string[] = COUNTER_FILES): Promise<number> {
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(() => '')
    const [, count] = /^oom_kill (\d+)$/m.exec(text) ?? []
    if (count !== undefined) return Number(count)
  }
  return 0
}
