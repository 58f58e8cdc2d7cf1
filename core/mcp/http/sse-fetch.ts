/** The fetch of the SSE transport: our pool, headers and tokens, faults instead of statuses, and a limit on one event's bytes. */
import { fetch, type Response as UndiciResponse } from 'undici'
import { Fault } from '../../errors.ts'
import { connectionFault, statusFault, tooLarge } from './faults.ts'
import { type Link, MAX_REDIRECTS, redirectPath } from './link.ts'

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

export type SseFetch = (url: string | URL, init?: RequestInit) => Promise<globalThis.Response>

/**
 * Rejects with a Fault where the answer is no success. `broken` is told the Fault of the event stream, which is what GET asks for.
 * `limit` says how large an event of the stream may be right now.
 */
export function createSseFetch(link: Link, limit: () => number, broken: (fault: Fault) => void): SseFetch {
  const send = async (url: string | URL, init: RequestInit, signal: AbortSignal, rejected?: string) => {
    const { headers, token } = await link.headers(signal, rejected)
    const own = Object.fromEntries(new Headers(init.headers).entries())
    const { method = 'GET', body } = init
    const options = { method, body: typeof body === 'string' ? body : null, headers: { ...headers, ...own } }
    let target = String(url)
    for (let redirects = 0; ; redirects++) {
      const to = { ...options, redirect: 'manual' as const, signal, dispatcher: link.pool }
      const response = await fetch(target, to)
      const path = redirectPath(response.status, response.headers.get('location'), target)
      if (path === undefined || redirects === MAX_REDIRECTS) return { response, token }
      await response.body?.cancel()
      target = new URL(path, target).href
    }
  }

  return async (url, init = {}) => {
    const signal = init.signal ?? new AbortController().signal
    try {
      const first = await send(url, init, signal)
      const renew = first.response.status === 401 && first.token !== undefined
      if (renew) await first.response.body?.cancel()
      const { response } = renew ? await send(url, init, signal, first.token) : first
      const fault = statusFault(response.status) ?? notAStream(init.method, response)
      if (fault) {
        await response.body?.cancel()
        throw fault
      }
      return bounded(response, limit, broken)
    } catch (error) {
      const fault =
        error instanceof Fault
          ? error
          : connectionFault(error instanceof Error ? error : new Error(String(error)))
      if ((init.method ?? 'GET') === 'GET') broken(fault)
      throw fault
    }
  }
}

function notAStream(method: string | undefined, { headers }: UndiciResponse): Fault | undefined {
  const type = headers.get('content-type') ?? 'no content type'
  if ((method !== undefined && method !== 'GET') || type.startsWith('text/event-stream')) return undefined
  return new Fault('upstream_protocol', `The upstream opens no event stream (${type.slice(0, 100)})`)
}

/** The same answer, whose event stream breaks with Fault upstream_too_large at an event over the limit. */
function bounded(
  response: UndiciResponse,
  limit: () => number,
  broken: (fault: Fault) => void,
): globalThis.Response {
  const { status } = response
  const headers = Object.fromEntries(response.headers.entries())
  if (!response.body || !headers['content-type']?.startsWith('text/event-stream'))
    return new Response(response.body as ReadableStream | null, { status, headers })
  const count = eventCounter()
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (count(chunk) <= limit()) return controller.enqueue(chunk)
      const fault = tooLarge(limit())
      broken(fault)
      controller.error(fault)
    },
  })
  return new Response((response.body as ReadableStream<Uint8Array>).pipeThrough(counted), { status, headers })
}

/** Counts the bytes since the last blank line, which ends an event. */
function eventCounter(): (chunk: Uint8Array) => number {
  let bytes = 0
  let line = 0
  let last: number | undefined
  return chunk => {
    let from = 0
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
      line += at - from
      bytes += at - from + 1
      const before = at > 0 ? chunk[at - 1] : last
      if (line === 0 || (line === 1 && before === CARRIAGE_RETURN)) bytes = 0
      line = 0
      from = at + 1
    }
    line += chunk.length - from
    bytes += chunk.length - from
    last = chunk.at(-1)
    return bytes
  }
}
