/**
 * Joins the event streams of a gateway's routers into one stream for a page. Event names end with the router's pod; each event id combines
 * the last ids of all routers.
 */
import { createParser } from 'eventsource-parser'
import { type Clock, delay } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import { readBounded } from '../../core/bounded.ts'
import { messageOf } from '../../core/errors.ts'
import type { Router } from './cluster-view.ts'
import type { RouterClient } from './router-client.ts'

export type FanInOptions = {
  client: RouterClient
  /** Returns the gateway's running routers; called repeatedly. */
  routers: () => Router[]
  authorization: string | undefined
  /** The Last-Event-ID of a page that had a stream before. */
  lastEventId: string
  /** `data` is JSON. */
  send(event: string, data: string, id?: string): void
  clock: Clock
  random: () => number
}

/** How often `joinRouters` checks for new routers and for routers that are gone. */
const POLL_MS = 1_000
const RETRY = { firstMs: 500, longestMs: 10_000 }
/** Enough for the state of thousands of servers. */
const MAX_EVENT_CHARACTERS = 32 << 20
const MAX_ERROR_BYTES = 64 << 10
const MAX_ERROR_CHARACTERS = 500
/** Statuses that the person at the page can do something about. */
const REFUSED: ReadonlySet<number> = new Set([401, 403, 429])
const NO_ROUTER = 'No router of this gateway is ready: its conditions say why.'

/** Runs until the signal aborts; never rejects. */
export async function joinRouters(options: FanInOptions, signal: AbortSignal): Promise<void> {
  const { routers, send, clock } = options
  /** The keys of routers with an open stream. */
  const answering = new Set<string>()
  const ids = readIds(options.lastEventId)
  const streams = new Map<string, AbortController>()
  let sentPods: string | undefined
  while (!signal.aborted) {
    const all = routers()
    const pods = all.map(({ pod }) => pod)
    // Pages send all ids in a header, which must not grow with every rollout.
    for (const pod of ids.keys()) if (!pods.includes(pod)) ids.delete(pod)
    if (pods.join() !== sentPods) {
      send('routers', JSON.stringify({ pods }))
      if (pods.length === 0) send('unreachable', JSON.stringify({ error: NO_ROUTER }))
      sentPods = pods.join()
    }
    for (const [key, stop] of streams)
      if (!all.some(router => keyOf(router) === key)) {
        stop.abort()
        streams.delete(key)
      }
    for (const router of all) {
      if (streams.has(keyOf(router))) continue
      const gone = new AbortController()
      streams.set(keyOf(router), gone)
      void followRouter(router, options, { ids, answering }, AbortSignal.any([gone.signal, signal]))
    }
    await delay(clock, POLL_MS, signal).catch(() => {})
  }
}

/**
 * Forwards the events of a router, over a new stream whenever one has ended, until the signal aborts or the router refuses the person. The page
 * is told that the router does not answer only if no other answers.
 */
async function followRouter(
  router: Router,
  options: FanInOptions,
  { ids, answering }: { ids: Map<string, string>; answering: Set<string> },
  signal: AbortSignal,
): Promise<void> {
  const { clock, random } = options
  const send: FanInOptions['send'] = (event, data, id) => {
    if (event !== 'unreachable' || answering.size === 0) options.send(event, data, id)
  }
  let failures = 0
  const onOpen = () => {
    failures = 0
    answering.add(keyOf(router))
  }
  while (!signal.aborted) {
    try {
      const reading = read(router, { ...options, send }, ids, onOpen, signal)
      const outcome = await reading.finally(() => answering.delete(keyOf(router)))
      if (outcome === 'refused') return
    } catch (error) {
      if (!signal.aborted) send('unreachable', JSON.stringify({ error: messageOf(error) }))
    }
    await delay(clock, backoffMs(RETRY, failures++, random), signal).catch(() => {})
  }
}

/** Forwards the events of a router until its stream ends. `onOpen` is called if it answers with a stream. */
async function read(
  router: Router,
  { client, authorization, send }: FanInOptions,
  ids: Map<string, string>,
  onOpen: () => void,
  signal: AbortSignal,
): Promise<'ended' | 'refused'> {
  const { pod, address } = router
  const last = ids.get(pod)
  const headers = last === undefined ? undefined : { 'last-event-id': last }
  const { statusCode, body } = await client.ask(address, 'events', { authorization, signal, headers })
  if (statusCode !== 200) {
    const tooLarge = () => new Error(`The router answered with HTTP ${statusCode}.`)
    const text = await readBounded(body, MAX_ERROR_BYTES, tooLarge)
    const error = sentenceOf(statusCode, text.toString('utf8'))
    send(REFUSED.has(statusCode) ? 'refused' : 'unreachable', JSON.stringify({ error }))
    return REFUSED.has(statusCode) ? 'refused' : 'ended'
  }
  onOpen()
  let pending = 0
  const parser = createParser({
    onEvent({ id, event = 'message', data }) {
      pending = 0
      if (id !== undefined) ids.set(pod, id)
      send(`${event}@${pod}`, data, writeIds(ids))
    },
  })
  const decoder = new TextDecoder()
  for await (const chunk of body) {
    const text = decoder.decode(chunk as Uint8Array, { stream: true })
    pending += text.length
    if (pending > MAX_EVENT_CHARACTERS) throw new Error('The router sends an event that is too large.')
    parser.feed(text)
  }
  return 'ended'
}

/** The sentence for the person, from the router's answer. */
function sentenceOf(status: number, text: string): string {
  if (status === 404) return 'This router has an older version, without a console.'
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    if (typeof error === 'string') return error.slice(0, MAX_ERROR_CHARACTERS)
    if (error && typeof error === 'object' && 'message' in error)
      return String(error.message).slice(0, MAX_ERROR_CHARACTERS)
  } catch {
    // Not JSON.
  }
  return `The router answered with HTTP ${status}.`
}

/** Parses `pod=id pod=id`. */
function readIds(text: string): Map<string, string> {
  return new Map(
    text.split(' ').flatMap(pair => {
      const [, pod, id] = /^([a-z0-9.-]{1,253})=([0-9a-f.-]{1,80})$/.exec(pair) ?? []
      return pod !== undefined && id !== undefined ? [[pod, id] as const] : []
    }),
  )
}

function writeIds(ids: ReadonlyMap<string, string>): string {
  return [...ids].map(([pod, id]) => `${pod}=${id}`).join(' ')
}

function keyOf({ pod, address }: Router): string {
  return `${pod} ${address}`
}
