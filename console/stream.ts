/** Reads the event stream of the page, and applies its events to the page's data. */
import type { Signal } from '@preact/signals'
import { applyClusterEvent, type ClusterKnown, NO_CLUSTER } from './cluster.ts'
import { applyEvent, type Known, NO_DATA } from './live.ts'
import { merged } from './merge.ts'
import { createEventReader, type StreamEvent } from './sse.ts'

const RETRY_MS = [500, 1_000, 2_000, 5_000]
/** Events that arrive within this time are shown together. */
const FRAME_MS = 100

type StreamParts = {
  url: string
  known: Signal<Known>
  /** In a cluster: what is known of the cluster, and of each router of the gateway. */
  cluster?: Signal<ClusterKnown>
  lostSince: Signal<number | undefined>
  refused: Signal<string | undefined>
  credentials: () => Record<string, string>
}

/** Keeps one event stream open while the page is visible, and resumes it after the last event when it is opened again. */
export function createStream(parts: StreamParts) {
  const { url, lostSince, refused, credentials } = parts
  const { take, forget } = createReceiver(parts)
  let lastId = ''
  let failures = 0
  let current: AbortController | undefined
  let timer = 0

  async function read(signal: AbortSignal): Promise<void> {
    const headers = { ...credentials(), ...(lastId !== '' && { 'last-event-id': lastId }) }
    const response = await fetch(url, { headers, signal })
    if (response.status === 401 || response.status === 403) {
      refused.value = ((await response.json()) as { error?: string }).error ?? 'it asks for a token.'
      // The gateway answers, and nothing is tried again until another token is given.
      lostSince.value = undefined
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
    const attempt = new AbortController()
    current = attempt
    read(attempt.signal).catch(() => {
      if (attempt.signal.aborted) return
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
    /** For another caller: forgets everything that the previous one saw. */
    restart() {
      lastId = ''
      forget()
      open()
    },
  }
}

/** Applies events at once, but shows the results of those within FRAME_MS together, so that the page is not drawn for each of them. */
function createReceiver({ known, cluster, lostSince, refused }: StreamParts) {
  let received = NO_DATA
  let receivedCluster = NO_CLUSTER
  /** The timer that will show the received events; 0: none. */
  let showing = 0
  const show = () => {
    showing = 0
    if (cluster) {
      cluster.value = receivedCluster
      refused.value = receivedCluster.refused
    }
    known.value = cluster ? merged(receivedCluster.routers) : received
    lostSince.value = undefined
  }
  return {
    take(events: readonly StreamEvent[]): readonly StreamEvent[] {
      for (const { event, data } of events) {
        if (cluster) receivedCluster = applyClusterEvent(receivedCluster, event, data)
        else received = applyEvent(received, event, data)
      }
      if (events.length > 0 && showing === 0) showing = window.setTimeout(show, FRAME_MS)
      return events
    },
    forget() {
      received = NO_DATA
      receivedCluster = { ...NO_CLUSTER, cluster: receivedCluster.cluster }
      known.value = NO_DATA
    },
  }
}
