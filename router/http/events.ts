/** The stream `/events` of the admin port, by which the operator hears at once what calls wait for; `/status` has the same. */
import type { FastifyReply } from 'fastify'
import { peerAddress } from '../../core/addresses.ts'
import type { Clock, Timer } from '../../core/async.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import type { WakeRequests } from '../waking/wake-requests.ts'
import { type App, respond } from './app.ts'

/** Any pod that reaches the port may open streams: those of one address leave enough for the operator's. */
const MAX_STREAMS = 64
/** The leading operator has one; earlier ones of it may not be closed yet. */
const MAX_STREAMS_OF_ADDRESS = 4
/** Proxies of service meshes pass all connections on from one of these. */
const OF_PROXIES: ReadonlySet<unknown> = new Set(['127.0.0.1', '127.0.0.6'])
const BEAT_MS = 15_000
/** A reader that lags behind by more is cut off: it reads `/status` when it connects again. */
const MAX_UNREAD_BYTES = 1024 * 1024

/** Another part of `/status`, which the operator reads when it hears of a change. */
type Changing = { onChange(listener: () => void): () => void }

/** Server-sent events: `waiting`, whose data is the list `waiting` of `/status`, at the beginning and after each change of it, or of what is `changing`. */
export function addEvents(
  { fastify, draining }: App,
  wakes: WakeRequests,
  changing: readonly Changing[],
  clock: Clock,
): void {
  const open: (string | undefined)[] = []
  fastify.get('/events', ({ raw: { socket } }, reply) => {
    const address = peerAddress(socket)
    const ofAddress = OF_PROXIES.has(address) ? 0 : open.filter(other => other === address).length
    if (open.length >= MAX_STREAMS || ofAddress >= MAX_STREAMS_OF_ADDRESS)
      return respond(reply, 503, TRANSPORT_ERROR, 'There are too many streams of events already.')
    open.push(address)
    reply.hijack()
    stream(reply, wakes, changing, clock, draining, () => open.splice(open.indexOf(address), 1))
  })
}

function stream(
  { raw }: FastifyReply,
  wakes: WakeRequests,
  changing: readonly Changing[],
  clock: Clock,
  draining: AbortSignal,
  onClosed: () => void,
): void {
  raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  const write = (text: string) => {
    if (raw.writableLength > MAX_UNREAD_BYTES) raw.destroy()
    else raw.write(text)
  }
  const tell = () => write(`event: waiting\ndata: ${JSON.stringify(wakes.list())}\n\n`)
  let beat: Timer
  const beatAgain = () => {
    beat = clock.after(BEAT_MS, () => {
      write(':\n\n')
      beatAgain()
    })
  }
  const end = () => raw.end()
  const stops = changing.map(each => each.onChange(tell))
  draining.addEventListener('abort', end, { once: true })
  raw.on('error', () => {}) // the reader has gone
  raw.once('close', () => {
    beat.cancel()
    for (const stop of stops) stop()
    draining.removeEventListener('abort', end)
    onClosed()
  })
  tell()
  beatAgain()
}
