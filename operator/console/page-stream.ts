/** The event stream of one page: the cluster's gateways, and the routers of the gateway that it shows. */
import type { ServerResponse } from 'node:http'
import { type Clock, delay } from '../../core/async.ts'
import { HEARTBEAT_MS } from '../../core/mcp/server/heartbeats.ts'
import { HEARTBEAT } from '../../core/mcp/server/post-response.ts'
import type { ClusterView, GatewayPlace } from './cluster-view.ts'
import { joinRouters } from './fan-in.ts'
import type { RouterClient } from './router-client.ts'

export type PageStreamOptions = {
  view: ClusterView
  client: RouterClient
  /** Undefined: the page shows all gateways. */
  gateway: GatewayPlace | undefined
  authorization: string | undefined
  /** As in FanInOptions. */
  lastEventId: string
  /** Headers of the answer. */
  headers: Readonly<Record<string, string>>
  clock: Clock
  random: () => number
}

const POLL_MS = 1_000
/** The stream of a page that reads too slowly is closed. The page then opens it again. */
const MAX_UNSENT_BYTES = 16 << 20

/** Sends events until the page closes or the signal aborts. Never rejects. */
export async function streamToPage(
  response: ServerResponse,
  options: PageStreamOptions,
  stopping: AbortSignal,
): Promise<void> {
  const { view, gateway, clock } = options
  const closed = new AbortController()
  response.once('close', () => closed.abort())
  response.on('error', () => closed.abort())
  const signal = AbortSignal.any([closed.signal, stopping])
  response.writeHead(200, {
    ...options.headers,
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
  })
  const write = (text: string) => {
    if (signal.aborted) return
    if (response.writableLength > MAX_UNSENT_BYTES) response.destroy()
    else response.write(text)
  }
  const send = (event: string, data: string, id?: string) =>
    write(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`)
  const joined = gateway && joinRouters({ ...options, routers: () => view.routers(gateway), send }, signal)
  let version = -1
  let lastBeatMs = clock.elapsed()
  while (!signal.aborted) {
    if (version !== view.version()) {
      version = view.version()
      send('cluster', JSON.stringify(view.state(gateway === undefined)))
    }
    if (clock.elapsed() - lastBeatMs >= HEARTBEAT_MS) {
      lastBeatMs = clock.elapsed()
      write(HEARTBEAT)
    }
    await delay(clock, POLL_MS, signal).catch(() => {})
  }
  await joined
  response.end()
}
