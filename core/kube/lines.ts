/** Splits the endless body of a watch into lines; each line is one event. */
import { faultOf } from '../deadline.ts'
import { ApiError, unreachable } from './api-error.ts'

/** etcd's limit for an object is 1.5 MiB, and its JSON can be larger. */
const MAX_LINE_BYTES = 16 * 2 ** 20
const LINE_FEED = 10

/** Throws ApiError if the connection breaks or a line is too long, and the fault of `signal` if that aborts. */
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
