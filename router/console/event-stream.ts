/** Sends the events of one open page: first the whole state, then its changes; calls as they happen, up to a limit; new points. */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../core/async.ts'
import type { ConsoleCall, ConsoleEvents } from '../../core/console/shapes.ts'
import { HEARTBEAT_MS } from '../../core/mcp/server/heartbeats.ts'
import { HEARTBEAT, STREAM_HEAD, whenClosed } from '../../core/mcp/server/post-response.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { isOwn, type KeptCall } from './calls.ts'
import type { ConsoleFeed } from './feed.ts'
import { type Looks, repeat, type Sight } from './looks.ts'
import { type StateFacts, seesAll, stateOf } from './state.ts'

/** New calls are sent together after this time, at most MAX_CALLS_PER_FRAME of them; the others are only counted. */
export const FRAME_MS = 250
export const MAX_CALLS_PER_FRAME = 20
/** A page that reads too slowly is closed; it opens the stream again. */
const MAX_UNSENT_BYTES = 4 << 20

export type EventStreamOptions = {
  feed: ConsoleFeed
  looks: Looks
  host: StateFacts['host']
  /** What the page's caller sees now; undefined before the first catalog. */
  seen: () => Catalog | undefined
  /** The id of the page's caller. */
  caller: string
  /** The Last-Event-ID of a page that had a stream before. */
  lastEventId: string | undefined
  headers: readonly string[]
  clock: Clock
}

/** Sends events until the page closes. */
export function streamEvents(raw: ServerResponse, options: EventStreamOptions): void {
  const { feed, clock, seen, lastEventId } = options
  const { calls, points } = feed
  const last = readEventId(lastEventId)
  const known = last?.run === calls.run ? last : { seq: 0, at: 0 }
  const sent = { seq: known.seq, at: known.at }
  const waiting: ConsoleCall[] = []
  let notShown = 0
  const send = <Name extends keyof ConsoleEvents>(event: Name, data: ConsoleEvents[Name]): void => {
    if (raw.destroyed || raw.writableEnded) return
    if (raw.writableLength > MAX_UNSENT_BYTES) return void raw.destroy()
    const id = `${calls.run}.${sent.seq}.${sent.at}`
    raw.write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }
  const maySee = (kept: KeptCall) => isOwn(kept, options.caller) || isWhole(seen(), options.host)
  const sendCalls = (): void => {
    if (waiting.length === 0) return
    sent.seq = waiting.at(-1)?.seq ?? sent.seq
    send('calls', { run: calls.run, calls: waiting.splice(0), notShown })
    notShown = 0
  }
  const sendPoints = (): void => {
    if (!isWhole(seen(), options.host)) return
    const fresh = points.since(sent.at)
    sent.at = fresh.points.at(-1)?.at ?? sent.at
    if (fresh.points.length > 0) send('points', fresh)
  }
  raw.writeHead(200, [...STREAM_HEAD, ...options.headers])
  const stopLooking = options.looks(stateSender(options, send))
  const before = calls.after(known.seq).filter(maySee)
  waiting.push(...before.map(({ call }) => call))
  sendCalls()
  sendPoints()
  const stops = [
    stopLooking,
    repeat(clock, FRAME_MS, sendCalls),
    repeat(clock, HEARTBEAT_MS, () => {
      // It may have been ended while the page does not read.
      if (!raw.destroyed && !raw.writableEnded) raw.write(HEARTBEAT)
    }),
    points.onPoint(sendPoints),
    calls.onCall(kept => {
      if (!maySee(kept)) return
      if (waiting.length < MAX_CALLS_PER_FRAME) waiting.push(kept.call)
      else notShown++
    }),
  ]
  whenClosed(raw, () => {
    for (const stop of stops) stop()
  })
}

type Send = <Name extends keyof ConsoleEvents>(event: Name, data: ConsoleEvents[Name]) => void

/** Sends the state where it differs from what was sent, and of the servers only those that changed. */
function stateSender({ seen }: EventStreamOptions, send: Send): (sight: Sight) => void {
  let state = ''
  let servers: ReturnType<Sight['serversOf']> | undefined
  return ({ facts, serversOf }) => {
    const catalog = seen()
    if (!catalog) return
    const next = stateOf(catalog, facts)
    const nextText = JSON.stringify(next)
    if (nextText !== state) send('state', next)
    state = nextText
    const all = serversOf(catalog)
    const changed = [...all.values()]
      .filter(({ server: { name }, text }) => servers?.get(name)?.text !== text)
      .map(({ server }) => server)
    const gone = [...(servers?.keys() ?? [])].filter(name => !all.has(name))
    if (!servers || changed.length + gone.length > 0)
      send('servers', { whole: servers === undefined, changed, gone })
    servers = all
  }
}

/** Whether the caller sees the whole gateway; false before the first catalog. */
function isWhole(catalog: Catalog | undefined, host: EventStreamOptions['host']): boolean {
  return catalog !== undefined && seesAll(catalog, host)
}

/** `<run>.<seq>.<at>`: the run of the gateway, and the last call and point that were sent. */
function readEventId(id: string | undefined): { run: string; seq: number; at: number } | undefined {
  const [, run = '', seq, at] = /^([0-9a-f-]{36})\.(\d{1,15})\.(\d{1,15})$/.exec(id ?? '') ?? []
  return run === '' ? undefined : { run, seq: Number(seq), at: Number(at) }
}
