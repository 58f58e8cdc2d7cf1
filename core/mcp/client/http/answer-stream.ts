/** The event stream that answers one request: finds the answer, and can be taken up again where the upstream broke it off. */
import type { EventSourceMessage } from 'eventsource-parser'
import { type Clock, delay } from '../../../async.ts'
import { faultOf } from '../../../deadline.ts'
import { Fault } from '../../../errors.ts'
import type { McpResponse } from '../../protocol/json-rpc.ts'
import { type Incoming, readMessages, sliceAnswer } from '../../protocol/message.ts'
import type { UpstreamCall } from '../../upstream.ts'
import type { EventSink, HttpResponse } from './http-request.ts'

const DEFAULT_RETRY_MS = 1_000
const MIN_RETRY_MS = 100
const MAX_RETRY_MS = 30_000

/** Takes what is no answer; `characters` is the length of the text that it came in. */
export type Heard = (message: Incoming, characters: number, call: UpstreamCall) => void

/** Takes the events of the stream that answers request `id`; what is not the answer goes to `heard`. One for every call on the hot path. */
export class AnswerStream implements EventSink {
  readonly id: number
  readonly call: UpstreamCall
  readonly heard: Heard
  /** Among the calls in flight. */
  place = 0
  answer: McpResponse | undefined
  /** Where to go on after a break; undefined: the upstream keeps nothing. */
  lastEventId: string | undefined
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
   * Waits for the answer of a stream that ended without it: asks with `get` for the rest, again and again. Throws Fault upstream_died
   * where the upstream kept nothing.
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
      const reply = await get(this.lastEventId).catch(unlessBroken)
      if (reply && !reply.streamed)
        throw new Fault('upstream_died', 'The upstream broke its stream off and does not resume it')
    }
    return this.answer
  }

  /** Events that hold no JSON (the empty one that only names an id, for one) are passed over. */
  #find(data: string): McpResponse | undefined {
    try {
      return findAnswer(data, this)
    } catch {
      return undefined
    }
  }
}

/**
 * The answer among the messages of a text; the others are heard. An error without an id can only be meant for this request.
 * Throws SyntaxError where the text is not JSON.
 */
export function findAnswer(text: string, { id, call, heard }: AnswerStream): McpResponse | undefined {
  let found: McpResponse | undefined
  for (const message of readMessages(text)) {
    if (message.kind !== 'answer') heard(message, text.length, call)
    else if (message.id === id || (message.id === null && message.answer.error)) found ??= message.answer
  }
  return found
}

/** A connection that broke in the middle of a stream with ids is no error yet. */
function unlessBroken(error: unknown): undefined {
  if (!(error instanceof Fault) || error.code !== 'upstream_died') throw error
}
