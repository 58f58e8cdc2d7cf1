/** Keeps an event stream open, however often it breaks, on which an upstream tells of what happens between calls. */
import { delay } from '../../../async.ts'
import { backoffMs } from '../../../backoff.ts'
import { type Incoming, readMessages } from '../../protocol/message.ts'
import type { HttpClient, HttpClientRequest } from './http-client.ts'
import type { RemoteDeps } from './spec.ts'

const MAX_EVENT_BYTES = 4 * 1024 * 1024
const RETRY = { firstMs: 1_000, longestMs: 60_000 }

export type StreamListener = {
  /** The stream is open; `attempt` counts from 1 after each stream that said something, and is 0 the very first time. */
  opened?: (attempt: number) => void
  /** `over`: the stream is not wanted any more; `again`: this one has ended. */
  heard: (message: Incoming, characters: number) => 'over' | 'again' | undefined
  /** The upstream does not know the session any more. */
  gone?: () => void
  /** The upstream offers no such stream; what it said instead. */
  refused: (text: string) => void
}

type StreamRequest = Pick<HttpClientRequest, 'method' | 'headers' | 'body'>

/** Listens until the returned function is called, the session is gone, or the upstream offers no such stream. */
export function keepStream(
  http: HttpClient,
  request: () => StreamRequest,
  listener: StreamListener,
  deps: RemoteDeps,
): () => void {
  const stop = new AbortController()
  void keepListening(http, request, listener, deps, stop.signal)
  return () => stop.abort()
}

async function keepListening(
  http: HttpClient,
  request: () => StreamRequest,
  listener: StreamListener,
  { clock, random = Math.random }: RemoteDeps,
  signal: AbortSignal,
): Promise<void> {
  let everOpen = false
  let short = 0
  let waitMs = 0
  for (let attempt = 0; !signal.aborted; attempt++) {
    const begun = clock.now()
    let heardAny = false
    const heard: StreamListener['heard'] = (message, characters) => {
      heardAny = true
      return signal.aborted ? 'over' : listener.heard(message, characters)
    }
    // A server without the stream may say 404 as well: it means the session only where there was a stream before.
    const gone = everOpen ? listener.gone : undefined
    const opened = () => {
      everOpen = true
      listener.opened?.(attempt)
    }
    const ended = await listenOnce(http, request(), { ...listener, gone, heard, opened }, signal)
    if (ended === 'over' || signal.aborted) return
    if (heardAny) attempt = 0
    // One that ends as soon as it has said something is waited for as long as one that says nothing.
    if (heardAny && clock.now() - begun > waitMs) short = 0
    waitMs = backoffMs(RETRY, short++, random)
    await delay(clock, waitMs, signal).catch(() => {})
  }
}

async function listenOnce(
  http: HttpClient,
  request: StreamRequest,
  listener: StreamListener & { opened: () => void },
  signal: AbortSignal,
): Promise<'again' | 'over'> {
  let ended: 'again' | 'over' | undefined
  const onEvent = ({ data }: { data: string }) => {
    for (const message of messagesIn(data)) ended ??= listener.heard(message, data.length)
    return ended && 'done'
  }
  try {
    const events = { onEvent, onStream: listener.opened }
    const reply = await http.send({ ...request, maxBytes: MAX_EVENT_BYTES, events, stays: true }, signal)
    if (ended) return ended
    if (reply.streamed || reply.status >= 500) return 'again'
    if (reply.status === 404 && listener.gone) listener.gone()
    else listener.refused(reply.text)
    return 'over'
  } catch {
    return 'again'
  }
}

/** An event that is not JSON tells us nothing. */
function messagesIn(data: string): Incoming[] {
  try {
    return readMessages(data)
  } catch {
    return []
  }
}
