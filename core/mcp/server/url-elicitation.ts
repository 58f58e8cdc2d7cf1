/**
 * Translates error −32042 of the 2025 era (the user must visit a page before the call) to a question of the 2026 era. The call is not
 * held while the user answers: it is repeated afterwards, at any replica. Pure.
 */
import { isObject, type JsonObject } from '../../json.ts'
import { missingCapabilities, missingCapability } from '../protocol/capabilities.ts'
import { INVALID_PARAMS, URL_ELICITATION_REQUIRED } from '../protocol/error-codes.ts'
import type { JsonRpcError, McpResponse } from '../protocol/json-rpc.ts'
import { ANSWER_WITHIN_MS } from './client-requests.ts'
import type { Signer } from './signed.ts'

const MAX_PAGES = 32
const ELICIT = 'elicitation/create'

/** The reply to a 2026 caller for such an error; undefined for any other error. */
export function pagesToVisit(
  { code, data }: JsonRpcError,
  declared: JsonObject | undefined,
  signer: Signer,
): McpResponse | undefined {
  const pages = code === URL_ELICITATION_REQUIRED && isObject(data) ? data.elicitations : undefined
  if (!Array.isArray(pages) || pages.length === 0 || pages.length > MAX_PAGES || !pages.every(isObject))
    return undefined
  const questions = pages.map(page => ({ method: ELICIT, params: { ...page, mode: 'url' } }))
  for (const question of questions) {
    const missing = missingCapabilities(question, declared)
    if (missing) return { error: missingCapability(question, missing) }
  }
  const inputRequests = Object.fromEntries(questions.map((question, at) => [`page-${at + 1}`, question]))
  const requestState = signer.mark('again', ANSWER_WITHIN_MS)
  return { result: { resultType: 'input_required', inputRequests, requestState } }
}

/** The params of a call to be repeated after the pages were visited, or an error; undefined for any other call. */
export function afterPages(
  params: JsonObject,
  signer: Signer,
): { params: JsonObject } | { error: JsonRpcError } | undefined {
  const { inputResponses, requestState, ...callParams } = params
  if (requestState === undefined || !signer.readMark('again', requestState)) return undefined
  const answers = isObject(inputResponses) ? Object.values(inputResponses) : []
  if (answers.length > 0 && answers.every(answer => isObject(answer) && answer.action === 'accept'))
    return { params: callParams }
  const message = 'The server requires its user to visit a page first, and the user declined.'
  return { error: { code: INVALID_PARAMS, message } }
}
