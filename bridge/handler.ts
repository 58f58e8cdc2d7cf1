/** The MCP handler of the bridge: forwards requests to a child and its answers back, both unchanged. */
import { Fault } from '../core/errors.ts'
import { sliceJson } from '../core/json-slice.ts'
import { META_OWN_PROTOCOL } from '../core/mcp/client/handshake.ts'
import { TRANSPORT_ERROR } from '../core/mcp/protocol/error-codes.ts'
import type { McpResponse } from '../core/mcp/protocol/json-rpc.ts'
import type { McpHandler, McpRequest, RouteDescription } from '../core/mcp/server/handler.ts'
import type { Listeners } from '../core/mcp/server/listeners.ts'
import type { Children } from './children.ts'

/** Protects the bridge's memory from a child; callers also limit the answers that they accept. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024

const RETRY_HINT = 'it can be tried again'
const CHECK_HINT = 'it may have taken effect: check before you repeat it'

/** `server`: the server name that clients get if the child declares none. */
export function createHandler(server: string, children: Children, listeners: Listeners): McpHandler {
  return {
    describe: () => describe(server, children),
    tell: (client, notification) => children.tell(client, notification),
    listen: listening => listeners.listen(listening),
    handle: request => withFaults(ask(children, request), request.method !== 'tools/call'),
    subscribe: (_route, subscription, { signal }) =>
      withFaults(children.subscribe(subscription, signal), true),
  }
}

/** Undefined before the first handshake with a child. */
function describe(server: string, { info }: Children): RouteDescription | undefined {
  if (!info) return undefined
  const { capabilities, serverInfo = { name: server, version: '0' }, instructions, protocolVersion } = info
  const meta = { [META_OWN_PROTOCOL]: protocolVersion }
  return { capabilities, serverInfo, meta, ...(instructions === undefined ? {} : { instructions }) }
}

function ask(children: Children, { method, params, text, caller }: McpRequest): Promise<McpResponse> {
  const isCall = method === 'tools/call' && text !== undefined
  const argumentsText = isCall ? sliceJson(text, ['params', 'arguments']) : undefined
  return children.request(
    { method, params, argumentsText, caller, maxBytes: MAX_ANSWER_BYTES },
    caller.signal,
  )
}

/** Turns a fault into a JSON-RPC error that says whether a retry is safe. `repeatable`: the request has no side effects. */
async function withFaults(response: Promise<McpResponse>, repeatable: boolean): Promise<McpResponse> {
  try {
    return await response
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const { code, message, details } = error
    const isUnanswered = code === 'upstream_died'
    const hint = isUnanswered ? `. This request got no answer; ${repeatable ? RETRY_HINT : CHECK_HINT}` : ''
    const retryable = error.retryable && (repeatable || !isUnanswered)
    // The router tells its caller the limit.
    const limit = code === 'upstream_too_large' ? details : {}
    const data = { reason: code, retryable, ...limit }
    return { error: { code: TRANSPORT_ERROR, message: `${message}${hint}`, data } }
  }
}
