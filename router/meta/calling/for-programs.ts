/** Distinguishes answers for the calling program from those for its model: questions to the user, and errors the program acts on. Pure. */
import type { JsonObject } from '../../../core/json.ts'
import { MISSING_CAPABILITY, URL_ELICITATION_REQUIRED } from '../../../core/mcp/protocol/error-codes.ts'
import type { JsonRpcError } from '../../../core/mcp/protocol/json-rpc.ts'

/** True for errors that a text cannot express, and for any error if the params contain answers to questions: these come from a program, not from a model. */
export function isForProgram({ code }: JsonRpcError, { requestState, inputResponses }: JsonObject): boolean {
  const hasAnswers = requestState !== undefined || inputResponses !== undefined
  return hasAnswers || code === MISSING_CAPABILITY || code === URL_ELICITATION_REQUIRED
}

/** The fields of a repeated request that carry answers to questions, for params that are built again. */
export function answersIn({ inputResponses, requestState }: JsonObject): JsonObject {
  return {
    ...(inputResponses !== undefined && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  }
}
