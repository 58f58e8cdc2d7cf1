/** Answers that are for the program that called, not for a model: questions to its user, and errors that it acts on. Pure. */
import type { JsonObject } from '../../../core/json.ts'
import { MISSING_CAPABILITY, URL_ELICITATION_REQUIRED } from '../../../core/mcp/protocol/error-codes.ts'
import type { JsonRpcError } from '../../../core/mcp/protocol/json-rpc.ts'

/** An error that means nothing in a text; any is where the request with these params brought answers back: a model wrote none of that. */
export function isForProgram({ code }: JsonRpcError, { requestState, inputResponses }: JsonObject): boolean {
  const brings = requestState !== undefined || inputResponses !== undefined
  return brings || code === MISSING_CAPABILITY || code === URL_ELICITATION_REQUIRED
}

/** What a repeated request carries of the answers to such a question, for where its params are made anew. */
export function answersIn({ inputResponses, requestState }: JsonObject): JsonObject {
  return {
    ...(inputResponses !== undefined && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  }
}
