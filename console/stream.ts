/** The event stream of the page: one, open while the page is seen, and opened again where it ended. */
import type { Signal } from '@preact/signals'
import { type ClusterKnown, learnCluster, NO_CLUSTER } from './cluster.ts'
import { type Known, learn, NOTHING } from './live.ts'
import { merged } from './merge.ts'
import { createEventReader, type StreamEvent } from './sse.ts'

const RETRY_MS = [500, 1_000, 2_000, 5_000]
/** Events that come at once are shown at once. */
const FRAME_MS = 100

type StreamParts = {
  /** Where the events are. */
  url: string
  known: Signal<Known>
  /** In a cluster: what the operator tells, and each router of the gateway. */
  cluster?: Signal<ClusterKnown>
  lostSince: Signal<number | undefined>
  refused: Signal<string | undefined>
  credentials: () => Record<string, string>
}

/** Keeps one event stream open while the page is seen, and opens it again where it ended. */
export function createStream(parts: StreamParts) {
  const { url, lostSince, refused, credentials } = parts
  const { take, forget } = createLearner(parts)
  let lastId = ''
  let failures = 0
  let current: AbortController | undefined
  let timer = 0

  async function read(signal: AbortSignal): Promise<void> {
    const headers = { ...credentials(), ...(lastId !== '' && { 'last-event-id': lastId }) }
    const response = await fetch(url, { headers, signal })
    if (response.status === 401 || response.status === 403) {
      refused.value = ((await response.json()) as { error?: string }).error ?? 'it asks for a token.'
      return
    }
    if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`)
    const events = createEventReader()
    const texts = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (let part = await texts.read(); !part.done; part = await texts.read()) {
      failures = 0
      for (const { id } of take(events(part.value))) if (id !== '') lastId = id
    }
    throw new Error('the stream ended')
  }

  function open(): void {
    close()
    const own = new AbortController()
    current = own
    read(own.signal).catch(() => {
      if (own.signal.aborted) return
      lostSince.value ??= Date.now()
      timer = window.setTimeout(open, RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)])
    })
  }

  const close = () => {
    clearTimeout(timer)
    current?.abort()
  }
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()))
  return {
    open,
    /** For somebody else: nothing of what the one before saw stays. */
    begin() {
      lastId = ''
      forget()
      open()
    },
  }
}

/** What events tell is learned at once, and shown together with what comes in the same tenth of a second. */
function createLearner({ known, cluster, lostSince, refused }: StreamParts) {
  let learned = NOTHING
  let ofCluster = NO_CLUSTER
  let showing = 0
  const show = () => {
    showing = 0
    if (cluster) {
      cluster.value = ofCluster
      refused.value = ofCluster.refused
    }
    known.value = cluster ? merged(ofCluster.routers) : learned
    lostSince.value = undefined
  }
  return {
    take(events: readonly StreamEvent[]): readonly StreamEvent[] {
      for (const { event, data } of events) {
        if (cluster) ofCluster = learnCluster(ofCluster, event, data)
        else learned = learn(learned, event, data)
      }
      if (events.length > 0 && showing === 0) showing = window.setTimeout(show, FRAME_MS)
      return events
    },
    forget() {
      learned = NOTHING
      ofCluster = { ...NO_CLUSTER, cluster: ofCluster.cluster }
      known.value = NOTHING
    },
  }
}
