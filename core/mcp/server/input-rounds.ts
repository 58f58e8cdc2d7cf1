/** Translates a reply `input_required` for a caller of the 2025 era: asks it the questions, and repeats its request with the answers. */
import { randomUUID } from 'node:crypto'
import { type Clock, delay } from '../../async.ts'
import { isObject, type JsonObject, type JsonValue } from '../../json.ts'
import { isQuestion, missingCapabilities, missingCapability, unaskable } from '../protocol/capabilities.ts'
import { INTERNAL_ERROR } from '../protocol/error-codes.ts'
import type { JsonRpcError, McpResponse, ServerRequest } from '../protocol/json-rpc.ts'
import { wantsInput } from '../protocol/message.ts'
import type { McpHandler, McpRequest } from './handler.ts'

type Question = readonly [key: string, request: ServerRequest]

/** A server that still asks after this many answers is refused. */
export const MAX_ROUNDS = 16
const MAX_QUESTIONS = 32
/** Delays before the request is repeated for replies without questions, with which the server only asks to be called again. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5_000
/** How long such replies are accepted in a row. The call's own deadline is the caller's signal, which some callers never abort. */
const MAX_PAUSES_MS = 10 * 60_000

const NOTHING_WANTED: JsonRpcError = {
  code: INTERNAL_ERROR,
  message: 'The server needs answers to continue, but names neither a question nor a state to continue from.',
}

const NEVER_DONE: JsonRpcError = {
  code: INTERNAL_ERROR,
  message: 'The server still asks to be called again after 10 minutes.',
}

/** Resolves with the first reply without questions. Rejects with the Fault of the request's signal, or of an unanswered question. */
export async function answerInputRounds(
  handler: McpHandler,
  request: McpRequest,
  first: JsonObject,
  clock: Clock,
): Promise<McpResponse> {
  let result = first
  const pauses = new Pauses(clock, request.caller.signal)
  for (let round = 0; round < MAX_ROUNDS; ) {
    const { requestState, inputRequests } = result
    const questions = readQuestions(inputRequests)
    const refused = refusal(questions, request)
    if (refused) return { error: refused }
    // Without a state, the repeated request would be a new call.
    if (questions.length === 0 && requestState === undefined) return { error: NOTHING_WANTED }
    if (questions.length > 0) {
      round++
      pauses.reset()
    } else if (!(await pauses.next())) return { error: NEVER_DONE }
    const answers = await askAll(questions, request)
    if ('error' in answers) return { error: answers.error }
    const { responses } = answers
    const params = {
      ...request.params,
      ...(questions.length > 0 ? { inputResponses: responses } : {}),
      ...(requestState === undefined ? {} : { requestState }),
    }
    const reply = await handler.handle({ ...request, params })
    if (reply.error || !wantsInput(reply.result)) return reply
    result = reply.result
  }
  const message = `The server still asks for more after ${MAX_ROUNDS} rounds of answers.`
  return { error: { code: INTERNAL_ERROR, message } }
}

/** Ever longer pauses between repetitions of a request. */
class Pauses {
  readonly #clock: Clock
  readonly #signal: AbortSignal
  #nextMs = FIRST_PAUSE_MS
  #leftMs = MAX_PAUSES_MS

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock
    this.#signal = signal
  }

  reset(): void {
    this.#nextMs = FIRST_PAUSE_MS
    this.#leftMs = MAX_PAUSES_MS
  }

  /** Waits; resolves with false at once if the time for pauses is over. Rejects with the reason of the signal. */
  async next(): Promise<boolean> {
    if (this.#leftMs <= 0) return false
    const ms = this.#nextMs
    this.#nextMs = Math.min(2 * ms, LONGEST_PAUSE_MS)
    this.#leftMs -= ms
    await delay(this.#clock, ms, this.#signal)
    return true
  }
}

/** The error for a reply whose questions need capabilities that the caller did not declare; undefined if it declared all. */
export function unaskableInput(
  { inputRequests }: JsonObject,
  declared: JsonObject | undefined,
): JsonRpcError | undefined {
  for (const [, question] of readQuestions(inputRequests)) {
    const missing = missingCapabilities(question, declared)
    if (missing) return missingCapability(question, missing)
  }
  return undefined
}

function readQuestions(inputRequests: JsonValue | undefined): Question[] {
  if (!isObject(inputRequests)) return []
  return Object.entries(inputRequests).map(([key, question]) => {
    const { method, params } = isObject(question) ? question : {}
    return [key, { method: String(method), ...(isObject(params) ? { params } : {}) }]
  })
}

/** The error for questions that this caller cannot be asked; undefined if it can be asked all. */
function refusal(
  questions: readonly Question[],
  { caller: { ask, capabilities } }: McpRequest,
): JsonRpcError | undefined {
  if (questions.length > MAX_QUESTIONS)
    return { code: INTERNAL_ERROR, message: `The server asks more than ${MAX_QUESTIONS} questions at once.` }
  for (const [, question] of questions) {
    if (!isQuestion(question.method)) {
      const message = `The server wants ${question.method.slice(0, 100)}, which no client of this revision can be asked for.`
      return { code: INTERNAL_ERROR, message }
    }
    const missing = missingCapabilities(question, ask && capabilities)
    if (missing) return missingCapability(question, missing)
  }
  return undefined
}

/** Asks all questions at once; the first failure cancels the others. */
async function askAll(
  questions: readonly Question[],
  { caller: { ask, signal } }: McpRequest,
): Promise<{ responses: JsonObject } | { error: JsonRpcError }> {
  const round = new AbortController()
  const either = AbortSignal.any([signal, round.signal])
  try {
    const answers = questions.map(async ([key, question]) => {
      const answer = await (ask?.(legacyQuestion(question), either) ?? { error: unaskable(question) })
      if (answer.error) throw new Unanswered(question, answer.error)
      return [key, answer.result] as const
    })
    return { responses: Object.fromEntries(await Promise.all(answers)) }
  } catch (error) {
    if (error instanceof Unanswered) return { error: error.rpcError }
    throw error
  } finally {
    round.abort()
  }
}

class Unanswered extends Error {
  readonly rpcError: JsonRpcError

  constructor({ method }: ServerRequest, error: JsonRpcError) {
    super(error.message)
    this.rpcError = { ...error, message: `The client answered ${method} with an error: ${error.message}` }
  }
}

/** URL elicitation has an id in the 2025 era, and none in the 2026 era. */
function legacyQuestion({ method, params }: ServerRequest): ServerRequest {
  if (method !== 'elicitation/create' || params?.mode !== 'url' || params.elicitationId !== undefined)
    return { method, params }
  return { method, params: { ...params, elicitationId: randomUUID() } }
}
