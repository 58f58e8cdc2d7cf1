/** A log of the requests to a fixture server, which tests can read and wait for. */

export type RequestLog = {
  /** `POST tools/call`, `GET`, `DELETE`, … in the order of arrival. */
  entries: string[]
  add(entry: string): void
  /** Resolves when there is an entry that starts with `start`. */
  logged(start: string): Promise<void>
}

export function createRequestLog(): RequestLog {
  const entries: string[] = []
  const waiting: { start: string; resolve: () => void }[] = []
  return {
    entries,
    add(entry) {
      entries.push(entry)
      for (const { start, resolve } of waiting) if (entry.startsWith(start)) resolve()
    },
    logged: start =>
      new Promise(resolve => {
        if (entries.some(entry => entry.startsWith(start))) resolve()
        else waiting.push({ start, resolve })
      }),
  }
}
