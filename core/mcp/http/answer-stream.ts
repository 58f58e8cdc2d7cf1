/** Waits for the answer of one request on an event stream, taken up again where the upstream broke it off and allows that. */
import { type Clock, delay } from '../../async.ts'
import { Fault } from '../../errors.ts'
import { faultOf } from '../deadline.ts'
import { type Incoming, readMessages, sliceAnswer } from '../message.ts'
import type { UpstreamAnswer, UpstreamCall } from '../upstream.ts'
import type { HttpReply, HttpRequest } from './exchange.ts'

const DEFAULT_RETRY_MS = 1_000
const MIN_RETRY_MS = 100
const MAX_RETRY_MS = 30_000

export type AnswerStream = {
  readonly onEvent: NonNullable<HttpRequest['onEvent']>
  readonly onRetry: (ms: number) => void
  answer: UpstreamAnswer | undefined
  /** Where to go on after a break; undefined: the upstream keeps nothing. */
  lastEventId: string | undefined
  retryMs: number
}

/** Takes the events of the stream that answers request `id`; what is not the answer goes to `heard`. */
export function createAnswerStream(
  id: number,
  call: UpstreamCall,
  heard: (message: Incoming, call: UpstreamCall) => void,
): AnswerStream {
  const stream: AnswerStream = {
    answer: undefined,
    lastEventId: undefined,
    retryMs: DEFAULT_RETRY_MS,
    onRetry(ms) {
      stream.retryMs = Math.min(Math.max(ms, MIN_RETRY_MS), MAX_RETRY_MS)
    },
    onEvent(event) {
      if (event.id) stream.lastEventId = event.id
      stream.answer = sliceAnswer(event.data, id) ?? findAnswer(messagesOf(event.data), id, call, heard)
      return stream.answer ? 'done' : undefined
    },
  }
  return stream
}

/** The answer among messages; the others are heard. An error without an id can only be meant for this request. */
export function findAnswer(
  messages: Incoming[],
  id: number,
  call: UpstreamCall,
  heard: (message: Incoming, call: UpstreamCall) => void,
): UpstreamAnswer | undefined {
  let found: UpstreamAnswer | undefined
  for (const message of messages) {
    if (message.kind !== 'answer') heard(message, call)
    else if (message.id === id || (message.id === null && message.answer.error)) found ??= message.answer
  }
  return found
}

/** Events that hold no JSON (the empty one that only names an id, for one) are passed over. */
function messagesOf(data: string): Incoming[] {
  try {
    return readMessages(data)
  } catch {
    return []
  }
}

/**
 * Sends `post`, and after a break `get` with the last event's id, until the answer is there. Returns the reply instead
 * where it was no event stream. Throws Fault upstream_died where the stream ends without the answer and cannot go on.
 */
export async function followStream(
  stream: AnswerStream,
  clock: Clock,
  send: { post: () => Promise<HttpReply>; get: (lastEventId: string) => Promise<HttpReply> },
  signal: AbortSignal,
): Promise<UpstreamAnswer | HttpReply> {
  const first = await unlessBroken(stream, send.post())
  if (first && !first.streamed) return first
  while (!stream.answer) {
    if (stream.lastEventId === undefined)
      throw new Fault('upstream_died', 'The upstream ended its stream without the answer')
    await delay(clock, stream.retryMs, signal).catch(() => Promise.reject(faultOf(signal)))
    const next = await unlessBroken(stream, send.get(stream.lastEventId))
    if (next && !next.streamed)
      throw new Fault('upstream_died', 'The upstream broke its stream off and does not resume it')
  }
  return stream.answer
}

/** A connection that broke in the middle of a stream with ids is no error yet. */
async function unlessBroken(stream: AnswerStream, reply: Promise<HttpReply>): Promise<HttpReply | undefined> {
  try {
    return await reply
  } catch (error) {
    if (stream.lastEventId !== undefined && error instanceof Fault && error.code === 'upstream_died')
      return undefined
    throw error
  }
}
