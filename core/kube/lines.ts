/** Cuts a body that goes on into its lines, which a watch has its events in. */
import { faultOf } from '../deadline.ts'
import { ApiError, unreachable } from './api-error.ts'

/** etcd takes no object above 1.5 MiB, and JSON can make it larger. */
const MAX_LINE_BYTES = 16 * 2 ** 20
const LINE_FEED = 10

/** Throws ApiError where the body breaks off or a line is too long, and the fault of `signal` where that aborts. */
export async function* readLines(body: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<string> {
  let parts: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of body) {
      let start = 0
      for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
        yield Buffer.concat([...parts, chunk.subarray(start, end)]).toString('utf8')
        parts = []
        bytes = 0
        start = end + 1
      }
      parts.push(chunk.subarray(start))
      bytes += chunk.length - start
      if (bytes > MAX_LINE_BYTES)
        throw new ApiError(0, 'TooLarge', `An event of a watch is larger than ${MAX_LINE_BYTES} bytes`)
    }
  } catch (error) {
    if (signal.aborted) throw faultOf(signal)
    throw error instanceof ApiError ? error : unreachable(error)
  }
}
