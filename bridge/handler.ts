/** What the bridge answers: everything that is not the protocol's own goes to a child as it is, and comes back so. */
import { Fault } from '../core/errors.ts'
import type { McpHandler, McpReply, McpRequest, RouteDescription } from '../core/mcp/front/handler.ts'
import { TRANSPORT_ERROR } from '../core/mcp/front/rejection.ts'
import type { Children } from './children.ts'
import type { Streams } from './streams.ts'

/** Callers have limits of their own; this one keeps a child from filling our memory. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024

/** `server` is its name where the child does not give one. */
export function createHandler(server: string, children: Children, streams: Streams): McpHandler {
  return {
    describe: () => describe(server, children),
    tell: (client, message) => children.tell(client, message),
    listen: listening => streams.listen(listening),
    async handle(request) {
      try {
        return await ask(children, request)
      } catch (error) {
        if (error instanceof Fault) return errorReply(error)
        throw error
      }
    },
  }
}

function describe(server: string, { info }: Children): RouteDescription | undefined {
  if (!info) return undefined
  const { capabilities, serverInfo = { name: server, version: '0' }, instructions } = info
  return { capabilities, serverInfo, ...(instructions === undefined ? {} : { instructions }) }
}

function ask(children: Children, { method, params, client, signal, notify }: McpRequest): Promise<McpReply> {
  const call = { method, params, client, maxBytes: MAX_ANSWER_BYTES, onNotification: notify }
  return children.request(call, signal)
}

/** A fault as JSON-RPC: the caller learns at once what happened, and whether it may try again. */
function errorReply({ code, message, retryable }: Fault): McpReply {
  const hint = code === 'upstream_died' ? '. This call got no answer; it can be tried again' : ''
  return {
    error: { code: TRANSPORT_ERROR, message: `${message}${hint}`, data: { reason: code, retryable } },
  }
}
