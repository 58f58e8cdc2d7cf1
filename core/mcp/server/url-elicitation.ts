/**
 * Bridges an error of the 2025 era, −32042: a server wants its user to visit a page before it takes the call. Toward the newer era it is
 * a question, after which the call begins anew: nothing waits for it, so that any replica may take it. Pure.
 */
import { isObject, type JsonObject } from '../../json.ts'
import { missingCapabilities, missingCapability } from '../protocol/capabilities.ts'
import { INVALID_PARAMS, URL_ELICITATION_REQUIRED } from '../protocol/error-codes.ts'
import type { JsonRpcError, McpResponse } from '../protocol/json-rpc.ts'
import { ANSWER_WITHIN_MS } from './asks.ts'
import type { Signer } from './signed.ts'

const MAX_PAGES = 32
const ELICIT = 'elicitation/create'

/** The reply that a caller of the newer era gets for such an error; undefined for any other error. */
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

/** A call that begins anew after such pages, or why it does not; undefined for any other call. */
export function afterPages(
  params: JsonObject,
  signer: Signer,
): { params: JsonObject } | { error: JsonRpcError } | undefined {
  const { inputResponses, requestState, ...own } = params
  if (requestState === undefined || !signer.readMark('again', requestState)) return undefined
  const answers = isObject(inputResponses) ? Object.values(inputResponses) : []
  if (answers.length > 0 && answers.every(answer => isObject(answer) && answer.action === 'accept'))
    return { params: own }
  const message = 'The server wants its user to visit a page first, and the user did not agree to that.'
  return { error: { code: INVALID_PARAMS, message } }
}
