/** How much work a piece of code is, whatever else the machine does meanwhile. */

/** Milliseconds of CPU that this thread has used. Where tests bound a cost in real time, a busy machine makes them fail. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
