/** Keeps a GET stream open on which an upstream says, between calls, that its lists changed. */
import { delay } from '../../async.ts'
import { isObject, type JsonObject } from '../../json.ts'
import { type Incoming, readMessages } from '../message.ts'
import type { Link } from './link.ts'
import type { RemoteDeps } from './spec.ts'

const MAX_EVENT_BYTES = 1024 * 1024
const FIRST_DELAY_MS = 1_000
const MAX_DELAY_MS = 60_000

export type Ears = {
  heard: (message: Incoming) => void
  /** The upstream does not know the session any more. */
  gone: () => void
}

/** Whether the upstream declared that it tells of changes. */
export function tellsOfChanges(capabilities: JsonObject): boolean {
  return ['tools', 'resources', 'prompts'].some(list => {
    const declared = capabilities[list]
    return isObject(declared) && declared.listChanged === true
  })
}

/** Listens until the returned function is called, the session is gone, or the upstream offers no such stream. */
export function listen(
  link: Link,
  headers: Record<string, string>,
  ears: Ears,
  deps: RemoteDeps,
): () => void {
  const stop = new AbortController()
  void keepListening(link, headers, ears, deps, stop.signal)
  return () => stop.abort()
}

async function keepListening(
  link: Link,
  headers: Record<string, string>,
  ears: Ears,
  { clock, random = Math.random }: RemoteDeps,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    let heardAny = false
    const ended = await listenOnce(link, headers, signal, message => {
      heardAny = true
      ears.heard(message)
    })
    if (ended === 'refused') return
    if (ended === 'gone') return ears.gone()
    if (heardAny) failures = 0
    const longest = Math.min(FIRST_DELAY_MS * 2 ** Math.min(failures, 10), MAX_DELAY_MS)
    await delay(clock, longest * (0.5 + random() / 2), signal).catch(() => {})
  }
}

async function listenOnce(
  link: Link,
  headers: Record<string, string>,
  signal: AbortSignal,
  heard: (message: Incoming) => void,
): Promise<'ended' | 'refused' | 'gone'> {
  const onEvent = ({ data }: { data: string }) => {
    try {
      readMessages(data).forEach(heard)
    } catch {
      // An event that is not JSON tells us nothing.
    }
    return undefined
  }
  try {
    const accept = { ...headers, accept: 'text/event-stream' }
    const reply = await link.send(
      { method: 'GET', headers: accept, maxBytes: MAX_EVENT_BYTES, onEvent },
      signal,
    )
    if (reply.status === 404 && headers['mcp-session-id'] !== undefined) return 'gone'
    return reply.streamed || reply.status >= 500 ? 'ended' : 'refused'
  } catch {
    return 'ended'
  }
}
