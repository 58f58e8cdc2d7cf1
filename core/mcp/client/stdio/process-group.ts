/** Signals to a process group, identified by the pid of its leader (POSIX; Windows is out of scope). */

/** Sends `signal` to every process of the group; false if there is none left. */
export function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  return kill(group, signal)
}

/**
 * Whether any process of the group is left, including zombies. While it is true, the kernel does not reuse
 * the number; once it was false, the group must not be signalled again.
 */
export function groupExists(group: number): boolean {
  return kill(group, 0)
}

function kill(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch {
    return false // ESRCH: empty. EPERM: zombies on macOS, or processes of another user, out of our reach either way
  }
}
