/** Signals to a whole process group, which is named by the pid of its first process (POSIX; Windows is out of scope). */

/** Sends `signal` to every process of the group. False: there is none left that could take it. */
export function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  return kill(group, signal)
}

/**
 * Whether any process of the group is left, zombies that nobody has reaped yet included. While it is true the kernel gives
 * the number to no other process; once it was false, the group must not be signalled again.
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
