/** The HTTP server of a bridge. Its shutdown sequence does not lose calls. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { listen } from '../core/addresses.ts'
import { type Clock, delay } from '../core/async.ts'
import { CLOSING_RESPONSE } from '../core/mcp/protocol/closing-header.ts'
import { keepRoom } from '../core/mcp/server/connection-room.ts'
import { watchConnections } from '../core/mcp/server/connections.ts'
import { watchQuiet } from '../core/mcp/server/quiet.ts'
import { followCertificate, MIN_TLS_VERSION, readCertificate } from './certificate.ts'
import { Site, type SiteOptions } from './site.ts'

export type ServeOptions = Omit<SiteOptions, 'room'> & {
  host: string
  /** 0 for any free port. */
  port: number
  /** Folder with `tls.crt` and `tls.key`; absent: plain HTTP. */
  tlsFolder?: string
  clock: Clock
}

export type BridgeServer = {
  port: number
  /** Turns readiness off, waits up to `drainMs` for calls in flight, then closes every connection. Idempotent. */
  close(drainMs: number): Promise<void>
}

const MAX_CONNECTIONS = 1_024
const REQUEST_TIMEOUT_MS = 60_000
/** Longer than callers keep an idle connection, so that the caller closes it first. */
const KEEP_ALIVE_MS = 75_000
/** At the beginning of the drain: time in which open connections may send one more request. Its response closes the connection. */
const LAST_CALLS_MS = 1_000
/**
 * Limits for the last phase, in which new requests are refused with an error that tells the caller to send them again. A Service routes
 * requests to this pod until it is told that the pod ends, or, if there is no other pod, until the readiness probe fails. Requests that
 * arrive while connections are being closed would be lost, so the phase ends when no request has arrived for a while.
 */
const MIN_REFUSAL_MS = 1_000
const MAX_REFUSAL_MS = 20_000

/** Listens at once. Throws Fault `unavailable` if the port is in use or the address is not local, `io` without a usable certificate. */
export async function serve(options: ServeOptions): Promise<BridgeServer> {
  const { clock } = options
  const timeouts = { requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_MS }
  const http = createHttp(options, timeouts)
  const room = keepRoom(http, MAX_CONNECTIONS, CLOSING_RESPONSE)
  const site = new Site({ ...options, room })
  http.on('request', (request, raw) => site.receive(request, raw))
  const connections = watchConnections(http, clock)
  const quiet = watchQuiet(http, clock)
  await listen(http, options.host, options.port)
  const { port } = http.address() as AddressInfo
  async function close(drainMs: number): Promise<void> {
    site.drain()
    connections.end()
    if ((await countOf(http)) > 0) await delay(clock, Math.min(LAST_CALLS_MS, drainMs))
    await site.inFlight.drain(drainMs, clock)
    site.startRefusing()
    // Callers must not send their next request on one idle connection after the other.
    connections.endIdle(CLOSING_RESPONSE)
    await delay(clock, Math.min(MIN_REFUSAL_MS, drainMs))
    await quiet.wait(Math.min(drainMs, MAX_REFUSAL_MS))
    await site.inFlight.drain(drainMs, clock)
    const closed = once(http, 'close')
    connections.endIdle(CLOSING_RESPONSE)
    http.close()
    http.closeAllConnections()
    await closed
  }
  let closing: Promise<void> | undefined
  return {
    port,
    close(drainMs) {
      closing ??= close(drainMs)
      return closing
    },
  }
}

function createHttp(options: ServeOptions, timeouts: object): Server {
  const { tlsFolder } = options
  if (tlsFolder === undefined) return createServer(timeouts)
  const certificate = readCertificate(tlsFolder)
  const server = createTlsServer({ ...timeouts, ...certificate, minVersion: MIN_TLS_VERSION })
  followCertificate(server, tlsFolder, certificate, options)
  return server
}

/** How many connections are open. */
function countOf(http: Server): Promise<number> {
  return new Promise(resolve => http.getConnections((_error, count) => resolve(count ?? 0)))
}
