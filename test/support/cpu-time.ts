/** CPU time, which does not depend on the load of the machine. */

/** Milliseconds of CPU time of this thread. Tests limit it instead of elapsed time, which depends on the load of the machine. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
