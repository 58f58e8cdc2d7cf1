/** Passes a validated request to the handler, and translates questions for the caller's era. */
import type { McpResponse } from '../protocol/json-rpc.ts'
import { wantsInput } from '../protocol/message.ts'
import { openBound, sealBound } from './bound.ts'
import type { FrontClients } from './clients.ts'
import type { McpHandler, McpRequest } from './handler.ts'
import { answerInputRounds } from './input-rounds.ts'
import type { PostResponse } from './post-response.ts'
import { afterPages } from './url-elicitation.ts'

const ASKING_METHODS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Whether the reply to this method may be `input_required` in the 2026 era. */
export function canBeAsked(method: string): boolean {
  return ASKING_METHODS.has(method)
}

/** Answers a request through the handler. `response` answers the POST that carried the request. */
export function handle(
  handler: McpHandler,
  clients: FrontClients,
  request: McpRequest,
  response: PostResponse,
): Promise<McpResponse> | McpResponse {
  const run = clients.distinguishesCallers() ? handleBound : handleInEra
  return run(handler, clients, request, response)
}

async function handleBound(
  handler: McpHandler,
  clients: FrontClients,
  request: McpRequest,
  response: PostResponse,
): Promise<McpResponse> {
  const opened = openBound(request, clients.signer)
  if ('error' in opened) return opened
  return sealBound(request, await handleInEra(handler, clients, opened, response), clients.signer)
}

function handleInEra(
  handler: McpHandler,
  clients: FrontClients,
  request: McpRequest,
  response: PostResponse,
): Promise<McpResponse> | McpResponse {
  return request.caller.era === 'legacy'
    ? handleLegacy(handler, clients, request)
    : handleModern(handler, clients, request, response)
}

function handleLegacy(handler: McpHandler, clients: FrontClients, request: McpRequest): Promise<McpResponse> {
  return handler
    .handle(request)
    .then(reply =>
      reply.error || !wantsInput(reply.result)
        ? reply
        : answerInputRounds(handler, request, reply.result, clients.clock),
    )
}

function handleModern(
  handler: McpHandler,
  { held, signer }: FrontClients,
  request: McpRequest,
  response: PostResponse,
): Promise<McpResponse> | McpResponse {
  if (!canBeAsked(request.method)) return handler.handle(request)
  if (request.params.requestState === undefined) return begin(request)
  const repeated = afterPages(request.params, signer)
  if (repeated && 'error' in repeated) return repeated
  if (repeated) return begin({ ...request, params: repeated.params })
  return held.resume(request, response) ?? begin(request)

  function begin(fresh: McpRequest): Promise<McpResponse> {
    return fresh.caller.capabilities ? held.run(handler, fresh, response) : handler.handle(fresh)
  }
}
