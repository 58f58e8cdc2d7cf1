/** What an upstream of the 2025 era asks its client: put to who can answer, answered on its behalf, ended with what it hangs on. */
import { waitFor } from '../../deadline.ts'
import { Fault, messageOf } from '../../errors.ts'
import type { JsonObject, JsonValue } from '../../json.ts'
import { isQuestion, missingCapabilities, unaskable } from '../protocol/capabilities.ts'
import { INTERNAL_ERROR, METHOD_NOT_FOUND } from '../protocol/error-codes.ts'
import type { McpResponse, ServerRequest } from '../protocol/json-rpc.ts'
import type { UpstreamCall } from '../upstream.ts'

/** Questions of one call, or of none, that wait for their answers at once; more are refused. */
const MAX_WAITING_PER_CALL = 16
/** Of all calls of a session. */
const MAX_WAITING = 512
/** Replies that are being sent at once: an upstream that asks more than it reads gets no more of them. */
const MAX_REPLIES = 64
const MAX_QUESTION_CHARACTERS = 4 * 1024 * 1024

export type Question = ServerRequest & {
  id: JsonValue /** Length of the text it came in. */
  characters: number
}

export type QuestionsOptions = {
  /** What was declared to the upstream. */
  capabilities: JsonObject
  /** Asks the client outside a call; undefined: it cannot be asked. */
  asked: (request: ServerRequest, signal: AbortSignal) => Promise<McpResponse> | undefined
  /** Sends a reply; settles once it is sent, or cannot be; undefined: it is already. */
  send: (reply: JsonObject) => Promise<unknown> | undefined
}

type Waiting = { id: JsonValue; call: UpstreamCall | undefined; abort: AbortController }

export class Questions {
  readonly #options: QuestionsOptions
  readonly #waiting = new Set<Waiting>()
  #replies = 0

  constructor(options: QuestionsOptions) {
    this.#options = options
  }

  /** Takes a question; `call` is the one that it is asked for. Every question is answered, if only with why it was not put. */
  take(question: Question, call: UpstreamCall | undefined): void {
    const { id, method, params } = question
    const refusal = this.#refusal(question, call)
    if (method === 'ping') this.#reply(id, { result: {} })
    else if (refusal) this.#reply(id, { error: refusal })
    else this.#ask(id, params ? { method, params } : { method }, call)
  }

  #ask(id: JsonValue, request: ServerRequest, call: UpstreamCall | undefined): void {
    const waiting: Waiting = { id, call, abort: new AbortController() }
    const { signal } = waiting.abort
    const answer = call?.caller.ask ? call.caller.ask(request, signal) : this.#options.asked(request, signal)
    if (!answer) this.#reply(id, { error: { code: METHOD_NOT_FOUND, message: NOBODY } })
    else {
      this.#waiting.add(waiting)
      void this.#pass(waiting, answer)
    }
  }

  /** The upstream does not want the answer any more. */
  cancel(id: JsonValue | undefined): void {
    for (const waiting of this.#waiting)
      if (waiting.id === id) waiting.abort.abort(new Fault('cancelled', 'The server withdrew its question'))
  }

  /** The call is over: its questions have no use. */
  callEnded(call: UpstreamCall): void {
    if (this.#waiting.size === 0) return
    for (const waiting of this.#waiting)
      if (waiting.call === call) waiting.abort.abort(new Fault('cancelled', 'The call that asked is over'))
  }

  /** The session is over. */
  end(): void {
    for (const { abort } of this.#waiting)
      abort.abort(new Fault('cancelled', 'The server that asked is gone'))
  }

  async #pass(waiting: Waiting, answer: Promise<McpResponse>): Promise<void> {
    const { signal } = waiting.abort
    try {
      const given = await waitFor(answer, signal)
      this.#reply(waiting.id, given.error ? { error: given.error } : { result: given.result }, true)
    } catch (error) {
      if (signal.aborted) return
      const message = `The client gave no answer: ${messageOf(error)}`
      this.#reply(waiting.id, { error: { code: INTERNAL_ERROR, message } }, true)
    } finally {
      this.#waiting.delete(waiting)
    }
  }

  #refusal({ id: _id, characters, ...request }: Question, call: UpstreamCall | undefined) {
    if (!isQuestion(request.method)) {
      const message = `The client does not offer ${request.method.slice(0, 100)}`
      return { code: METHOD_NOT_FOUND, message }
    }
    if (missingCapabilities(request, this.#options.capabilities)) return unaskable(request)
    if (characters > MAX_QUESTION_CHARACTERS)
      return { code: INTERNAL_ERROR, message: 'The question is too large to be put to the client' }
    const ofCall = [...this.#waiting].filter(waiting => waiting.call === call).length
    if (ofCall >= MAX_WAITING_PER_CALL || this.#waiting.size >= MAX_WAITING)
      return { code: INTERNAL_ERROR, message: 'Too many questions wait for the client already' }
    return undefined
  }

  /** `owed`: the question was put, and its answer is not to be lost. */
  #reply(id: JsonValue, answer: JsonObject, owed = false): void {
    if (this.#replies >= MAX_REPLIES && !owed) return
    const sending = this.#options.send({ jsonrpc: '2.0', id, ...answer })
    if (!sending) return
    this.#replies++
    void sending.catch(() => {}).finally(() => this.#replies--)
  }
}

const NOBODY = 'The client cannot be asked now: no call of it is in flight that could carry the question'
