/** One call of the 2026 era whose caller can be asked: it outlives the POST that began it, and goes on with the one that brings answers. */
import { isDeepStrictEqual } from 'node:util'
import type { Clock, Timer } from '../../async.ts'
import { faultOf } from '../../deadline.ts'
import { Fault } from '../../errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../../json.ts'
import { isQuestion, missingCapabilities, unaskable } from '../protocol/capabilities.ts'
import type { Notification, ServerRequest, UpstreamAnswer } from '../upstream.ts'
import type { McpHandler, McpReply, McpRequest } from './handler.ts'
import type { Exchange } from './post-response.ts'
import { INTERNAL_ERROR } from './rejection.ts'

/** A POST that waits for the call: the first, or one that repeats it with answers. */
export type Leg = {
  exchange: Exchange
  notify: (notification: Notification) => void
}

type Waiting = Leg & {
  progressToken: JsonValue | undefined
  resolve: (reply: McpReply) => void
  reject: (error: unknown) => void
  /** Stops listening to its end. */
  leave: () => void
}

type Question = {
  request: ServerRequest
  settle: (answer: UpstreamAnswer | Fault) => void
}

const MAX_QUESTIONS = 32
/** Questions that come so shortly after one another go together: their server asked them at once. */
export const GATHER_MS = 20

export class HeldCall {
  readonly #request: McpRequest
  /** The state under which the call is kept; undefined where it cannot be. */
  readonly #hold: (call: HeldCall) => string | undefined
  readonly #clock: Clock
  readonly #questions = new Map<string, Question>()
  #asked = 0
  #gathering: Timer | undefined
  #first: Exchange | undefined
  #leg: Waiting | undefined
  /** How the call ended. */
  #outcome: Promise<McpReply> | undefined

  constructor(request: McpRequest, clock: Clock, hold: (call: HeldCall) => string | undefined) {
    this.#request = request
    this.#clock = clock
    this.#hold = hold
  }

  /** How much of a body is kept with it. */
  get characters(): number {
    return this.#request.text?.length ?? 0
  }

  start(handler: McpHandler, leg: Leg): Promise<McpReply> {
    this.#first = leg.exchange
    const answered = this.#await(leg, this.#request)
    const request: McpRequest = {
      ...this.#request,
      ask: (question, signal) => this.#ask(question, signal),
      notify: notification => this.#notify(notification),
    }
    handler.handle(request).then(
      reply => this.#settle(Promise.resolve(reply)),
      error => this.#settle(Promise.reject(error)),
    )
    return answered
  }

  /** Whether a request is this call again: of the same caller, and with the same params but for what belongs to a single POST. */
  isRepeatedBy({ client, route, method, params }: McpRequest): boolean {
    const own = this.#request
    if (client !== own.client || method !== own.method) return false
    return isDeepStrictEqual(route, own.route) && isDeepStrictEqual(lasting(params), lasting(own.params))
  }

  /** Goes on with the POST that brings answers; questions without one are put again. */
  takeUp(request: McpRequest, leg: Leg): Promise<McpReply> {
    const answered = this.#await(leg, request)
    const { inputResponses } = request.params
    for (const [key, question] of [...this.#questions]) {
      const response = isObject(inputResponses) ? inputResponses[key] : undefined
      if (isResponse(response)) question.settle({ result: response })
    }
    if (this.#questions.size > 0) this.#put()
    else this.#answer()
    return answered
  }

  /** Ends the call: nobody came back. */
  giveUp(fault: Fault): void {
    for (const question of [...this.#questions.values()]) question.settle(fault)
    this.#first?.abort(fault)
  }

  #await(leg: Leg, { params }: McpRequest): Promise<McpReply> {
    const { exchange } = leg
    const { _meta: meta } = params
    return new Promise((resolve, reject) => {
      const onAbort = () => this.#first?.abort(faultOf(exchange.signal))
      // The signal of the first POST is that of the call itself.
      if (exchange !== this.#first) exchange.signal.addEventListener('abort', onAbort)
      this.#leg = {
        ...leg,
        progressToken: isObject(meta) ? meta.progressToken : undefined,
        resolve,
        reject,
        leave: () => {
          exchange.signal.removeEventListener('abort', onAbort)
          exchange.outlive()
        },
      }
    })
  }

  /** The call is over: it asks nothing any more. */
  #settle(outcome: Promise<McpReply>): void {
    this.#outcome = outcome
    if (!this.#leg) outcome.catch(() => {})
    for (const { settle } of [...this.#questions.values()]) settle(isOver())
    this.#answer()
  }

  /** Hands over how the call ended, where it has and somebody waits. */
  #answer(): void {
    const leg = this.#leg
    if (!leg || !this.#outcome) return
    this.#leg = undefined
    this.#outcome.then(leg.resolve, leg.reject)
  }

  #notify(notification: Notification): void {
    const leg = this.#leg
    if (!leg) return
    const { progressToken } = leg
    const isOwn = notification.method !== 'notifications/progress' || leg.exchange === this.#first
    if (isOwn) leg.notify(notification)
    else if (progressToken !== undefined)
      leg.notify({ ...notification, params: { ...notification.params, progressToken } })
  }

  async #ask(request: ServerRequest, signal: AbortSignal): Promise<UpstreamAnswer> {
    if (!isQuestion(request.method) || missingCapabilities(request, this.#request.capabilities))
      return { error: unaskable(request) }
    const { signal: own } = this.#request
    const gone = () => faultOf(own.aborted ? own : signal)
    if (this.#outcome) throw isOver()
    if (own.aborted || signal.aborted) throw gone()
    if (this.#questions.size >= MAX_QUESTIONS)
      return {
        error: { code: INTERNAL_ERROR, message: 'The caller has too many questions to answer already' },
      }
    const key = `${request.method.split('/', 1)[0]}-${++this.#asked}`
    return new Promise((resolve, reject) => {
      const settle = (answer: UpstreamAnswer | Fault) => {
        this.#questions.delete(key)
        for (const one of [own, signal]) one.removeEventListener('abort', onAbort)
        if (answer instanceof Fault) reject(answer)
        else resolve(answer)
      }
      const onAbort = () => settle(gone())
      for (const one of [own, signal]) one.addEventListener('abort', onAbort)
      this.#questions.set(key, { request, settle })
      this.#gathering ??= this.#clock.after(GATHER_MS, () => this.#put())
    })
  }

  #put(): void {
    this.#gathering?.cancel()
    this.#gathering = undefined
    const leg = this.#leg
    if (!leg || this.#questions.size === 0) return
    const requestState = this.#hold(this)
    if (requestState === undefined) {
      this.#refuse()
      return
    }
    const inputRequests: JsonObject = {}
    for (const [key, { request }] of this.#questions) inputRequests[key] = request
    this.#leg = undefined
    leg.leave()
    leg.resolve({ result: { resultType: 'input_required', inputRequests, requestState } })
  }

  #refuse(): void {
    const message =
      'The caller cannot be asked now: too many calls wait for answers, or the server is shutting down'
    for (const { settle } of [...this.#questions.values()])
      settle({ error: { code: INTERNAL_ERROR, message } })
  }
}

function isOver(): Fault {
  return new Fault('cancelled', 'The call is over.')
}

/** What must be the same in every POST of a call. */
function lasting({ _meta, inputResponses, requestState, ...params }: JsonObject): JsonObject {
  return params
}

/** The bare result of the question; a response in an envelope is none, as for the 2.x SDK. */
function isResponse(response: JsonValue | undefined): response is JsonObject {
  return isObject(response) && !('method' in response) && !('result' in response)
}
