/** A `fetch` for OAuth requests: limits the size of responses and the time, and refuses plain HTTP if the manifest's URL uses TLS. */
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js'
import { Agent, fetch as guardedFetch, type RequestInit as UndiciRequestInit } from 'undici'
import { readBounded } from '../../../bounded.ts'
import { faultOf } from '../../../deadline.ts'
import { Fault } from '../../../errors.ts'
import type { HostGuard } from '../../../host-guard.ts'
import { createOutbound } from '../../../outbound.ts'

const MAX_ANSWER_BYTES = 64 * 1024
const CONNECT_TIMEOUT_MS = 10_000

export type OAuthFetch = {
  /** Throws Fault upstream_unreachable, upstream_protocol, and the reason of the signal. Redirects are left to the SDK. */
  fetch: FetchLike
  /** The response to a request, with its body discarded. */
  probe(url: string, method: 'GET' | 'POST'): Promise<Response>
  /** HTTP status of the last answer; 0 before it. */
  status(): number
}

/** `base`: the URL in the manifest. URLs without TLS are allowed only if it begins with http://. `ca`: certificates to trust instead of the usual ones. */
export function createOAuthFetch(
  base: string,
  signal: AbortSignal,
  guard?: HostGuard,
  ca?: string,
): OAuthFetch {
  const outbound = { timeoutMs: CONNECT_TIMEOUT_MS, guard, ca }
  const dispatcher = guard || ca !== undefined ? new Agent({ connect: createOutbound(outbound) }) : undefined
  const withoutTls = base.startsWith('http://')
  let status = 0

  const send = async (url: string | URL, init?: RequestInit) => {
    if (!withoutTls && new URL(url).protocol !== 'https:')
      throw new Fault('upstream_protocol', 'An address of the authorization server is not https')
    guard?.check(new URL(url))
    const options = { ...init, signal, redirect: 'manual' } as const
    // Node's own fetch does not accept an Agent of another version of undici.
    const response = dispatcher
      ? ((await guardedFetch(url, { ...options, dispatcher } as UndiciRequestInit)) as unknown as Response)
      : await fetch(url, options)
    status = response.status
    return response
  }

  return {
    status: () => status,
    fetch: (url, init) =>
      reached(signal, async () => {
        const { body, headers, status } = await send(url, init)
        const tooLarge = () =>
          new Fault('upstream_protocol', 'The answer of the authorization server is too large')
        const bytes = await readBounded(body ?? [], MAX_ANSWER_BYTES, tooLarge)
        return new Response(bytes.length > 0 ? new Uint8Array(bytes) : null, { status, headers })
      }),
    probe: (url, method) =>
      reached(signal, async () => {
        const response = await send(url, { method })
        await response.body?.cancel()
        return response
      }),
  }
}

/** Turns a failed request into a Fault. */
async function reached(signal: AbortSignal, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work()
  } catch (error) {
    if (signal.aborted) throw faultOf(signal)
    if (error instanceof Fault) throw error
    if (error instanceof TypeError && error.cause instanceof Fault) throw error.cause
    const message = 'The authorization server cannot be reached'
    throw new Fault('upstream_unreachable', message, { cause: error, retryable: true })
  }
}
