/** The event stream that answers one request: finds the answer, and resumes the stream if it broke off. */
import type { EventSourceMessage } from 'eventsource-parser'
import { type Clock, delay } from '../../../async.ts'
import { faultOf } from '../../../deadline.ts'
import { Fault } from '../../../errors.ts'
import type { McpResponse } from '../../protocol/json-rpc.ts'
import { type Incoming, ownId, readMessages, sliceAnswer } from '../../protocol/message.ts'
import type { UpstreamCall } from '../../upstream.ts'
import type { EventSink, HttpResponse } from './http-request.ts'

const DEFAULT_RETRY_MS = 1_000
const MIN_RETRY_MS = 100
const MAX_RETRY_MS = 30_000

/** Receives messages that are not the answer; `characters` is the length of the text that contained the message. */
export type Heard = (message: Incoming, characters: number, call: UpstreamCall) => void

/** Handles the events of the stream that answers request `id`. A class, because every call creates one. */
export class AnswerStream implements EventSink {
  readonly id: number
  readonly call: UpstreamCall
  readonly heard: Heard
  /** Index in `CallsInFlight`. */
  place = 0
  answer: McpResponse | undefined
  /** Where to resume after a break; undefined: the upstream does not support it. */
  lastEventId: string | undefined
  /** The upstream was asked for the rest. */
  resumed = false
  #retryMs = DEFAULT_RETRY_MS

  constructor(id: number, call: UpstreamCall, heard: Heard) {
    this.id = id
    this.call = call
    this.heard = heard
  }

  onRetry(ms: number): void {
    this.#retryMs = Math.min(Math.max(ms, MIN_RETRY_MS), MAX_RETRY_MS)
  }

  onEvent({ id, data }: EventSourceMessage): 'done' | undefined {
    if (id) this.lastEventId = id
    this.answer = sliceAnswer(data, this.id) ?? this.#find(data)
    return this.answer ? 'done' : undefined
  }

  /**
   * Gets the answer of a stream that ended without it: requests the rest with `get` until it arrives. Throws Fault upstream_died
   * if the upstream cannot resume the stream.
   */
  async resume(
    clock: Clock,
    get: (lastEventId: string) => Promise<HttpResponse>,
    signal: AbortSignal,
  ): Promise<McpResponse> {
    while (!this.answer) {
      if (this.lastEventId === undefined)
        throw new Fault('upstream_died', 'The upstream ended its stream without the answer')
      await delay(clock, this.#retryMs, signal).catch(() => Promise.reject(faultOf(signal)))
      this.resumed = true
      const reply = await get(this.lastEventId).catch(unlessBroken)
      if (reply && !reply.streamed)
        throw new Fault('upstream_died', 'The upstream broke its stream off and does not resume it')
    }
    return this.answer
  }

  /** The answer in an event, if it has one. Ignores events without JSON, such as an empty one that only sets the event id. */
  #find(data: string): McpResponse | undefined {
    try {
      return findAnswer(data, this)
    } catch (error) {
      if (error instanceof Fault) throw error
      return undefined
    }
  }
}

/**
 * The answer among the messages of a text; others go to `heard`. An error without an id counts as the answer to this request.
 * Throws what `readMessages` throws.
 */
export function findAnswer(text: string, { id, call, heard }: AnswerStream): McpResponse | undefined {
  let found: McpResponse | undefined
  for (const message of readMessages(text)) {
    if (message.kind !== 'answer') heard(message, text.length, call)
    else if (ownId(message.id) === id || (message.id === null && message.answer.error))
      found ??= message.answer
  }
  return found
}

/**
 * Ignores a broken connection, because the stream can be resumed; throws all other errors. An upstream that cannot be reached any more
 * got the request: with upstream_unreachable it would be sent again.
 */
function unlessBroken(error: unknown): undefined {
  if (!(error instanceof Fault)) throw error
  const message = 'The upstream broke its stream off and cannot be reached'
  if (error.code === 'upstream_unreachable') throw new Fault('upstream_died', message, { cause: error })
  if (error.code !== 'upstream_died') throw error
}
