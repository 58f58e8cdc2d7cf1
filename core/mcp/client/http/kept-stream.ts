/** Keeps an event stream for messages between calls open, reconnecting with backoff. */
import { delay } from '../../../async.ts'
import { type Incoming, readMessages } from '../../protocol/message.ts'
import { StreamBackoff } from '../stream-backoff.ts'
import type { HttpClient, HttpClientRequest } from './http-client.ts'
import type { RemoteDeps } from './spec.ts'

const MAX_EVENT_BYTES = 4 * 1024 * 1024
/** Timeout, too early, too many requests: a later request may succeed. */
const REFUSED_FOR_NOW: ReadonlySet<number> = new Set([408, 425, 429])

export type StreamListener = {
  /** The stream is open; `attempt` is 0 the first time, and counts from 1 after each stream that carried a message. */
  opened?: (attempt: number) => void
  /** `over`: stop listening; `again`: this stream has ended, open another. */
  heard: (message: Incoming, characters: number) => 'over' | 'again' | undefined
  /** The upstream refuses the stream for now, and is asked again. */
  refusedForNow?: () => void
  /** The upstream no longer knows the session. */
  gone?: () => void
  /** The upstream offers no such stream; `text` is its response body. */
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
  const backoff = new StreamBackoff(random)
  for (let attempt = 0; !signal.aborted; attempt++) {
    const begun = clock.elapsed()
    let isOpen = false
    let heardAny = false
    const heard: StreamListener['heard'] = (message, characters) => {
      heardAny = true
      return signal.aborted ? 'over' : listener.heard(message, characters)
    }
    // A server without GET streams may also answer 404: it means a lost session only if a stream was open before.
    const gone = everOpen ? listener.gone : undefined
    const opened = () => {
      everOpen = true
      isOpen = true
      listener.opened?.(attempt)
    }
    const ended = await listenOnce(http, request(), { ...listener, gone, heard, opened }, signal)
    if (ended === 'over' || signal.aborted) return
    if (heardAny) attempt = 0
    const lastedMs = isOpen ? clock.elapsed() - begun : undefined
    await delay(clock, backoff.nextMs(lastedMs), signal).catch(() => {})
  }
}

/** Opens one stream and passes on its messages until it ends. */
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
    if (REFUSED_FOR_NOW.has(reply.status)) {
      listener.refusedForNow?.()
      return 'again'
    }
    if (reply.status === 404 && listener.gone) listener.gone()
    else listener.refused(reply.text)
    return 'over'
  } catch {
    return 'again'
  }
}

/** Events that are not JSON are ignored. */
function messagesIn(data: string): Incoming[] {
  try {
    return readMessages(data)
  } catch {
    return []
  }
}
