/** Questions of a 2025 upstream: forwards each to the client that can answer, or refuses it, and cancels it with its call or session. */

import { isDeeper } from '../../../crds/depth.ts'
import { waitFor } from '../../deadline.ts'
import { Fault, messageOf } from '../../errors.ts'
import type { JsonObject, JsonValue } from '../../json.ts'
import { isQuestion, missingCapabilities, unaskable } from '../protocol/capabilities.ts'
import { INTERNAL_ERROR, METHOD_NOT_FOUND } from '../protocol/error-codes.ts'
import type { McpResponse, ServerRequest } from '../protocol/json-rpc.ts'
import { MAX_LEVELS } from '../protocol/message.ts'
import type { UpstreamCall } from '../upstream.ts'

/** Open questions of one call, or of those that belong to no call; more are refused. */
const MAX_WAITING_PER_CALL = 16
/** Open questions of a session. */
const MAX_WAITING = 512
/** Replies being sent at once; further refusals are dropped, because the upstream asks faster than it reads. */
const MAX_REPLIES = 64
const MAX_QUESTION_CHARACTERS = 4 * 1024 * 1024

export type Question = ServerRequest & {
  id: JsonValue
  /** Length of the text that contained it. */
  characters: number
}

export type QuestionsOptions = {
  /** The capabilities declared to the upstream. */
  capabilities: JsonObject
  /** Asks the client outside a call; returns undefined if it cannot be asked. */
  asked: (request: ServerRequest, signal: AbortSignal) => Promise<McpResponse> | undefined
  /** Sends a reply; settles once it is sent or has failed; returns undefined if it is already sent. */
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

  /** Handles a question, or a ping, that belongs to `call`, if any. One that cannot be forwarded is answered with the reason. */
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
    if (!answer) this.#reply(id, { error: { code: METHOD_NOT_FOUND, message: CANNOT_ASK_NOW } })
    else {
      this.#waiting.add(waiting)
      void this.#forward(waiting, answer)
    }
  }

  /** The upstream withdrew its question. */
  cancel(id: JsonValue | undefined): void {
    for (const waiting of this.#waiting)
      if (waiting.id === id) waiting.abort.abort(new Fault('cancelled', 'The server withdrew its question'))
  }

  /** Cancels the questions of a call that has ended. */
  callEnded(call: UpstreamCall): void {
    if (this.#waiting.size === 0) return
    for (const waiting of this.#waiting)
      if (waiting.call === call) waiting.abort.abort(new Fault('cancelled', 'The call that asked is over'))
  }

  /** Cancels all questions when the session ends. */
  end(): void {
    for (const { abort } of this.#waiting)
      abort.abort(new Fault('cancelled', 'The server that asked is gone'))
  }

  async #forward(waiting: Waiting, answer: Promise<McpResponse>): Promise<void> {
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

  /** The error for a question that cannot be forwarded; undefined if it can. */
  #refusal({ id: _id, characters, ...request }: Question, call: UpstreamCall | undefined) {
    if (!isQuestion(request.method)) {
      const message = `The client does not offer ${request.method.slice(0, 100)}`
      return { code: METHOD_NOT_FOUND, message }
    }
    if (missingCapabilities(request, this.#options.capabilities)) return unaskable(request)
    if (characters > MAX_QUESTION_CHARACTERS || isDeeper(request.params, MAX_LEVELS))
      return {
        code: INTERNAL_ERROR,
        message: 'The question is too large or nested too deeply to be put to the client',
      }
    const ofCall = [...this.#waiting].filter(waiting => waiting.call === call).length
    if (ofCall >= MAX_WAITING_PER_CALL || this.#waiting.size >= MAX_WAITING)
      return { code: INTERNAL_ERROR, message: 'Too many questions wait for the client already' }
    return undefined
  }

  /** `owed`: the client was asked, so the answer must not be dropped. */
  #reply(id: JsonValue, answer: JsonObject, owed = false): void {
    if (this.#replies >= MAX_REPLIES && !owed) return
    const sending = this.#options.send({ jsonrpc: '2.0', id, ...answer })
    if (!sending) return
    this.#replies++
    void sending.catch(() => {}).finally(() => this.#replies--)
  }
}

const CANNOT_ASK_NOW =
  'The client cannot be asked now: it has no call in flight that could carry the question'
