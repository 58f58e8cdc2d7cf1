/** Shows the progress and the duration of long work. */

const TERMINAL_EVERY_MS = 1_000
const LOG_EVERY_MS = 15_000

/**
 * Runs `work` and writes `title` with the elapsed seconds and the last reported detail: on a terminal as one line that is updated,
 * otherwise as a line every 15 s.
 */
export async function withProgress<T>(
  title: string,
  work: (report: (detail: string) => void) => Promise<T>,
  stream: NodeJS.WriteStream = process.stderr,
): Promise<T> {
  const started = performance.now()
  let detail = ''
  const line = () => `${title}: ${detail}${detail && ', '}${seconds(started)} s`
  const write = (text: string) => stream.write(stream.isTTY ? `\r\x1b[K${text}` : `${text}\n`)
  const timer = setInterval(() => write(line()), stream.isTTY ? TERMINAL_EVERY_MS : LOG_EVERY_MS)
  if (stream.isTTY) write(title)
  try {
    const result = await work(text => {
      detail = text
    })
    write(`${title}: done in ${seconds(started)} s`)
    return result
  } finally {
    clearInterval(timer)
    if (stream.isTTY) stream.write('\n')
  }
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1_000).toFixed(0)
}
