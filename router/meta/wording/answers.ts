/** Builds the answers that meta-tools give themselves: a text, or an error that says what to do. Counts their tokens and reports refusals. */
import type { CallToolResult, TextContent } from '@modelcontextprotocol/sdk/types.js'
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import type { Limited } from '../../access/limits.ts'
import { estimateTokens } from '../../catalog/estimate.ts'
import type { Asked, CallOutcome } from '../../observer.ts'
import { tokenRoute, type Work } from '../meta-tool.ts'
import { shortenToTokens } from './shorten.ts'

/** Why a request is not carried out. */
export type Refusal = {
  refusal: string
  outcome: CallOutcome
  /** The server it was about, if the catalog knows it. */
  server?: RouterServer
  tool?: string
  /** What the request named, if that is not in the catalog. */
  asked?: Asked
  /** The limit that refuses the request. */
  limited?: Limited
  /** The scopes that the caller's token needs for the request. */
  scopes?: readonly string[]
  /** What would have been sent to the server. */
  unsent?: JsonObject
}

/** A tool result with one text. Its tokens are not counted here. */
export function textReply(text: string): McpResponse {
  return { result: { content: [textContent(text)] } satisfies CallToolResult }
}

/** Answers with the hits of a search or a list; its tokens are counted as served. */
export function discoveryReply(work: Work, answer: JsonObject): McpResponse {
  const text = JSON.stringify(answer)
  work.observer.tokensServed(tokenRoute(work), 'discovery', estimateTokens(text))
  return textReply(text)
}

/** An answer with schemas. Their tokens and those of the rest (`frameTokens`) are counted separately as served. */
export function schemaReply(
  work: Work,
  text: string,
  frameTokens: number,
  schemaTokens: number,
): McpResponse {
  work.observer.tokensServed(tokenRoute(work), 'discovery', frameTokens)
  work.observer.tokensServed(tokenRoute(work), 'schema', schemaTokens)
  return textReply(text)
}

/** A tool result with `isError`, within the budget of answers; its tokens are counted as served. */
export function errorReply(work: Work, text: string): McpResponse {
  const sentence = shortenToTokens(text, work.catalog.config.budget.responseTokens)
  work.observer.tokensServed(tokenRoute(work), 'error', estimateTokens(sentence))
  return { result: { content: [textContent(sentence)], isError: true } satisfies CallToolResult }
}

/** Appends notes to a result; their tokens are counted as served. */
export function withNotes(work: Work, result: JsonObject, notes: readonly string[]): JsonObject {
  if (notes.length === 0 || !Array.isArray(result.content)) return result
  work.observer.tokensServed(tokenRoute(work), 'error', estimateTokens(notes.join('\n')))
  return { ...result, content: [...result.content, ...notes.map(textContent)] }
}

function textContent(text: string) {
  return { type: 'text', text } satisfies TextContent
}

/** Reports a refused request and answers it with the refusal's sentence. */
export function refuse(work: Work, refusal: Refusal): McpResponse {
  reportRefusal(work, refusal)
  return errorReply(work, refusal.refusal)
}

/** Reports a refused request to the observer, without answering it. */
export function reportRefusal(work: Work, refusal: Refusal): void {
  const { outcome, server, tool, asked, limited, scopes, unsent } = refusal
  work.observer.called({
    server: server?.name,
    tool,
    method: work.request.method,
    outcome,
    client: work.request.caller.label,
    totalMs: performance.now() - work.arrivedMs,
    upstreamMs: 0,
    log: server?.logging.requests ?? true,
    by: work,
    asked,
    limited,
    scopes,
    unsent,
    script: work.script,
  })
}
