/** A call of the 2026 era whose caller can be asked. If a POST is answered with questions, the call continues in the POST with the answers. */
import { isDeepStrictEqual } from 'node:util'
import type { Clock, Timer } from '../../async.ts'
import { faultOf } from '../../deadline.ts'
import { Fault } from '../../errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../../json.ts'
import type { Caller } from '../caller.ts'
import { isQuestion, missingCapabilities, unaskable } from '../protocol/capabilities.ts'
import { INTERNAL_ERROR } from '../protocol/error-codes.ts'
import type { McpResponse, Notification, ServerRequest } from '../protocol/json-rpc.ts'
import type { McpHandler, McpRequest } from './handler.ts'
import type { PostResponse } from './post-response.ts'

/** A POST that waits for the call's reply: the first, or one that repeats it with answers. */
type Waiting = {
  response: PostResponse
  notify: Caller['notify']
  progressToken: JsonValue | undefined
  resolve: (reply: McpResponse) => void
  reject: (error: unknown) => void
  /** Detaches the call from this POST, whose end then no longer aborts it. */
  leave: () => void
}

type Question = {
  request: ServerRequest
  /** Length of its JSON. */
  characters: number
  settle: (answer: McpResponse | Fault) => void
}

const MAX_QUESTIONS = 32
/** Questions within this time are sent together, because servers often ask several at once. */
export const GATHER_MS = 20

export class HeldCall {
  readonly #request: McpRequest
  /** Stores the call and returns its `requestState`; undefined if it cannot be stored. */
  readonly #hold: (call: HeldCall) => string | undefined
  readonly #clock: Clock
  readonly #questions = new Map<string, Question>()
  #asked = 0
  #gathering: Timer | undefined
  #first: PostResponse | undefined
  #post: Waiting | undefined
  /** Set once the handler has replied or failed. */
  #outcome: Promise<McpResponse> | undefined

  constructor(request: McpRequest, clock: Clock, hold: (call: HeldCall) => string | undefined) {
    this.#request = request
    this.#clock = clock
    this.#hold = hold
  }

  /** The id of the caller's identity; only this caller may answer. */
  get identityId(): string {
    return this.#request.caller.identity.id
  }

  /** Length of the stored body and of the open questions. */
  get characters(): number {
    return this.#questions
      .values()
      .reduce((sum, { characters }) => sum + characters, this.#request.text?.length ?? 0)
  }

  /** Runs the handler. Resolves with its reply, or with `input_required` if there are questions first. Rejects as the handler does. */
  start(handler: McpHandler, response: PostResponse): Promise<McpResponse> {
    this.#first = response
    const answered = this.#await(response, this.#request)
    const caller: Caller = {
      ...this.#request.caller,
      ask: (question, signal) => this.#ask(question, signal),
      notify: notification => this.#notify(notification),
    }
    handler.handle({ ...this.#request, caller }).then(
      reply => this.#settle(Promise.resolve(reply)),
      error => this.#settle(Promise.reject(error)),
    )
    return answered
  }

  /** Whether a request repeats this call: same caller, and same params except those that belong to a single POST. */
  isRepeatedBy({ caller, route, method, params }: McpRequest): boolean {
    const first = this.#request
    if (caller.client !== first.caller.client || method !== first.method) return false
    return (
      isDeepStrictEqual(route, first.route) &&
      isDeepStrictEqual(stableParams(params), stableParams(first.params))
    )
  }

  /** Continues in a POST with answers; asks unanswered questions again. Settles as `start` does. */
  resume(request: McpRequest, response: PostResponse): Promise<McpResponse> {
    const answered = this.#await(response, request)
    const { inputResponses } = request.params
    for (const [key, question] of [...this.#questions]) {
      const answer = isObject(inputResponses) ? inputResponses[key] : undefined
      if (isBareResult(answer)) question.settle({ result: answer })
    }
    if (this.#questions.size > 0) this.#sendQuestions()
    else this.#answer()
    return answered
  }

  /** Ends a call whose caller did not return with answers. */
  giveUp(fault: Fault): void {
    for (const question of [...this.#questions.values()]) question.settle(fault)
    this.#first?.abort(fault)
  }

  #await(response: PostResponse, { params, caller }: McpRequest): Promise<McpResponse> {
    const { _meta: meta } = params
    return new Promise((resolve, reject) => {
      const onAbort = () => this.#first?.abort(faultOf(response.signal))
      // The signal of the first POST is that of the call itself.
      if (response !== this.#first) response.signal.addEventListener('abort', onAbort)
      this.#post = {
        response,
        notify: caller.notify,
        progressToken: isObject(meta) ? meta.progressToken : undefined,
        resolve,
        reject,
        leave: () => {
          response.signal.removeEventListener('abort', onAbort)
          response.outlive()
        },
      }
    })
  }

  /** The handler is done: ends open questions and answers the waiting POST. */
  #settle(outcome: Promise<McpResponse>): void {
    this.#outcome = outcome
    if (!this.#post) outcome.catch(() => {})
    for (const { settle } of [...this.#questions.values()]) settle(callOver())
    this.#answer()
  }

  /** Passes the outcome to the waiting POST, once there are both. */
  #answer(): void {
    const post = this.#post
    if (!post || !this.#outcome) return
    this.#post = undefined
    this.#outcome.then(post.resolve, post.reject)
  }

  /** Sends a notification in the waiting POST. Progress gets the token of that POST, which may differ from that of the first. */
  #notify(notification: Notification): void {
    const post = this.#post
    if (!post) return
    const { progressToken } = post
    const sendAsIs = notification.method !== 'notifications/progress' || post.response === this.#first
    if (sendAsIs) post.notify?.(notification)
    else if (progressToken !== undefined)
      post.notify?.({ ...notification, params: { ...notification.params, progressToken } })
  }

  async #ask(request: ServerRequest, signal: AbortSignal): Promise<McpResponse> {
    if (!isQuestion(request.method) || missingCapabilities(request, this.#request.caller.capabilities))
      return { error: unaskable(request) }
    const { signal: callSignal } = this.#request.caller
    const abortFault = () => faultOf(callSignal.aborted ? callSignal : signal)
    if (this.#outcome) throw callOver()
    if (callSignal.aborted || signal.aborted) throw abortFault()
    if (this.#questions.size >= MAX_QUESTIONS)
      return {
        error: { code: INTERNAL_ERROR, message: 'The caller has too many questions to answer already' },
      }
    const { length: characters } = JSON.stringify(request)
    const key = `${request.method.split('/', 1)[0]}-${++this.#asked}`
    return new Promise((resolve, reject) => {
      const settle = (answer: McpResponse | Fault) => {
        this.#questions.delete(key)
        for (const one of [callSignal, signal]) one.removeEventListener('abort', onAbort)
        if (answer instanceof Fault) reject(answer)
        else resolve(answer)
      }
      const onAbort = () => settle(abortFault())
      for (const one of [callSignal, signal]) one.addEventListener('abort', onAbort)
      this.#questions.set(key, { request, characters, settle })
      this.#gathering ??= this.#clock.after(GATHER_MS, () => this.#sendQuestions())
    })
  }

  /** Stores the call and answers the waiting POST with all open questions. */
  #sendQuestions(): void {
    this.#gathering?.cancel()
    this.#gathering = undefined
    const post = this.#post
    if (!post || this.#questions.size === 0) return
    const requestState = this.#hold(this)
    if (requestState === undefined) {
      this.#refuse()
      return
    }
    const inputRequests: JsonObject = {}
    for (const [key, { request }] of this.#questions) inputRequests[key] = request
    this.#post = undefined
    post.leave()
    post.resolve({ result: { resultType: 'input_required', inputRequests, requestState } })
  }

  #refuse(): void {
    const message =
      'The caller cannot be asked now: too many calls wait for answers, or the server is shutting down'
    for (const { settle } of [...this.#questions.values()])
      settle({ error: { code: INTERNAL_ERROR, message } })
  }
}

function callOver(): Fault {
  return new Fault('cancelled', 'The call is over.')
}

/** The params that are the same in every POST of a call. */
export function stableParams({ _meta, inputResponses, requestState, ...params }: JsonObject): JsonObject {
  return params
}

/** Whether an answer is the result of the question itself, as the 2.x SDK requires, and not a JSON-RPC message that contains it. */
function isBareResult(answer: JsonValue | undefined): answer is JsonObject {
  return isObject(answer) && !('method' in answer) && !('result' in answer)
}
