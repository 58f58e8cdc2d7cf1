/** Connects to a gateway with the MCP SDK's client, as most agents do. The SDK is loaded with the first connection. */
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js'
import { faultOf } from '../../deadline.ts'
import { Fault } from '../../errors.ts'
import { isObject, type JsonObject, tryParseJson } from '../../json.ts'
import { CLIENT_INFO } from '../protocol/envelope.ts'

/** One answer, or one stream of messages. */
const MAX_BODY_BYTES = 64 * 1024 * 1024
const DELETE_TIMEOUT_MS = 1_000
/** The caller's signal is the limit, but the SDK requires a timeout too. */
const NO_LIMIT_MS = 2 ** 31 - 1

export type SdkClient = {
  /**
   * The result as received, unknown fields included. Throws Fault upstream_rejected with a JSON-RPC error's message, upstream_unreachable,
   * upstream_died, upstream_auth_required, upstream_protocol, upstream_too_large, and the reason of `signal`.
   */
  request(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject>
  /** Ends the session too. */
  close(): Promise<void>
}

/** Performs the handshake over streamable HTTP, with a bearer token if one is given. Throws as `request` does. */
export async function connectSdkClient(url: string, signal: AbortSignal, token?: string): Promise<SdkClient> {
  const [{ Client }, { StreamableHTTPClientTransport }, { ResultSchema }] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ])
  const broken = new AbortController()
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: boundedFetch(error => broken.abort(error)),
    ...(token !== undefined && { requestInit: { headers: { authorization: `Bearer ${token}` } } }),
  })
  const client = new Client(CLIENT_INFO)
  const within = async <T>(signal: AbortSignal, work: (options: RequestLimits) => Promise<T>): Promise<T> => {
    const both = AbortSignal.any([signal, broken.signal])
    try {
      return await work({ signal: both, timeout: NO_LIMIT_MS })
    } catch (error) {
      throw both.aborted ? faultOf(both) : sdkFault(error)
    }
  }
  await within(signal, options => client.connect(transport, options))
  return {
    request: (method, params, signal) =>
      within(
        signal,
        async options => (await client.request({ method, params }, ResultSchema, options)) as JsonObject,
      ),
    async close() {
      await transport.terminateSession().catch(() => undefined)
      await client.close()
    },
  }
}

type RequestLimits = { signal: AbortSignal; timeout: number }

/** The SDK follows redirects only within an origin. Calls `onBroken` for what the SDK only logs: the answer to a POST breaks off or is too large. */
function boundedFetch(onBroken: (fault: Fault) => void): FetchLike {
  return async (url, init) => {
    const deadline = init?.method === 'DELETE' && { signal: AbortSignal.timeout(DELETE_TIMEOUT_MS) }
    const response = await fetch(url, { ...init, ...deadline })
    if (!response.body || init?.method !== 'POST') return response
    const { status, headers } = response
    return new Response(ReadableStream.from(bounded(response.body, onBroken)), { status, headers })
  }
}

async function* bounded(body: ReadableStream<Uint8Array>, onBroken: (fault: Fault) => void) {
  let bytes = 0
  try {
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > MAX_BODY_BYTES) throw new Fault('upstream_too_large', 'The answer is too large')
      yield chunk
    }
  } catch (cause) {
    const fault =
      cause instanceof Fault
        ? cause
        : new Fault('upstream_died', 'The connection broke before the answer', { cause })
    onBroken(fault)
    throw fault
  }
}

function sdkFault(cause: unknown): Fault {
  if (cause instanceof Fault) return cause
  if (cause instanceof TypeError)
    return new Fault('upstream_unreachable', 'The gateway cannot be reached', { cause, retryable: true })
  const { name, code, message } = cause as { name?: string; code?: unknown; message?: string }
  if (name === 'McpError')
    return new Fault('upstream_rejected', (message ?? '').replace(/^MCP error -?\d+: /, ''), { cause })
  if (code === 401 || code === 403)
    return new Fault('upstream_auth_required', `The gateway wants credentials (${code})`, { cause })
  const rejection = rejectionIn(message)
  const status = typeof code === 'number' && code > 0 ? code : undefined
  const given = { cause, ...(status !== undefined && { details: { status } }) }
  if (rejection !== undefined) return new Fault('upstream_rejected', rejection, given)
  const http = status === undefined ? '' : ` (HTTP ${status})`
  return new Fault('upstream_protocol', `The answer of the gateway is not MCP${http}`, given)
}

/** The JSON-RPC error in the body of a refusal, which the SDK quotes in its message. */
function rejectionIn(message = ''): string | undefined {
  const body = tryParseJson(message.slice(message.indexOf('{')))
  const error = isObject(body) ? body.error : undefined
  return isObject(error) && typeof error.message === 'string' ? error.message : undefined
}
