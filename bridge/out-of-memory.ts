/** Reads how often the kernel's OOM killer killed a process of this container. */
import { readFile } from 'node:fs/promises'

/** Files of the container's own cgroup, for cgroup v2 and v1. */
const COUNTER_FILES = ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control']

/** Returns 0 outside of a container, or if the kernel does not count OOM kills. */
export async function memoryKills(files: readonly string[] = COUNTER_FILES): Promise<number> {
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(() => '')
    const [, count] = /^oom_kill (\d+)$/m.exec(text) ?? []
    if (count !== undefined) return Number(count)
  }
  return 0
}
