/** The base of the router's HTTP servers: fastify with limits, plain errors, and a shutdown that loses no call. */

import type { AddressInfo } from 'node:net'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { listenOn } from '../../core/addresses.ts'
import { type Clock, delay } from '../../core/async.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { INTERNAL_ERROR, TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import { type Bodies, createBodies } from '../../core/mcp/server/bodies.ts'
import { type ConnectionRoom, keepRoom } from '../../core/mcp/server/connection-room.ts'
import { watchConnections } from '../../core/mcp/server/connections.ts'
import { InFlight } from '../../core/mcp/server/in-flight.ts'
import { JSON_TYPE } from '../../core/mcp/server/post-response.ts'
import { watchQuiet } from '../../core/mcp/server/quiet.ts'
import { errorText } from '../../core/mcp/server/reply.ts'
import { answerBroken, MAX_HEADER_BYTES } from './broken.ts'

export type App = {
  readonly fastify: FastifyInstance
  /** MCP exchanges that closing waits for. */
  readonly inFlight: InFlight
  readonly bodies: Bodies
  readonly room: ConnectionRoom
  /** Aborts when closing begins. */
  readonly draining: AbortSignal
  /** Throws a Fault `unavailable` if the port is in use or the address is not of this machine. */
  listen(host: string, port: number): Promise<HttpServer>
}

/** Lets a request in by calling `done`, or answers it. */
export type OnRequest = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void

export type HttpServer = {
  address: { host: string; port: number }
  /**
   * Stops accepting, waits up to `drainMs` for requests in flight, then closes every connection. Idempotent. `before` is called before accepting
   * stops, when no request is in flight; new requests are still answered meanwhile.
   */
  close(drainMs: number, before?: () => Promise<unknown>): Promise<void>
}

export type AppOptions = {
  log: Log
  clock: Clock
  /**
   * How long closing still accepts requests, and some seconds more while they come. Each is the last on its connection, so callers that keep connections open learn that
   * they need a new one before they lose a call. Default: 0.
   */
  lingerMs?: number
}

/** Up to half of them may be used by open streams: see the front's limit of streams. */
const MAX_CONNECTIONS = 8_192
/** How long closing accepts requests at most, after `lingerMs`. */
const MAX_LINGER_MS = 10_000
/** Limits for receiving a whole request, and its headers; checked every few seconds. */
const REQUEST_TIMEOUT_MS = 60_000
const HEAD_TIMEOUT_MS = 20_000
const TIMEOUT_CHECK_MS = 5_000
/** Longer than callers keep idle connections (Google's load balancers: 10 minutes), so that the caller closes them. */
const KEEP_ALIVE_MS = 620_000

/** Creates a server that does not listen yet. */
export function createApp({ log, clock, lingerMs = 0 }: AppOptions): App {
  const app = bareApp(log)
  const connections = watchConnections(app.server, clock)
  const room = keepRoom(app.server, MAX_CONNECTIONS)
  const quiet = watchQuiet(app.server, clock)
  const inFlight = new InFlight()
  const end = new AbortController()
  async function close(drainMs: number, before?: () => Promise<unknown>): Promise<void> {
    end.abort()
    connections.end()
    if (lingerMs > 0) {
      await delay(clock, lingerMs)
      await quiet.wait(Math.min(drainMs, MAX_LINGER_MS))
    }
    const endMs = clock.elapsed() + drainMs
    if (before) {
      await inFlight.drain(drainMs, clock)
      await before()
    }
    app.server.close()
    await inFlight.drain(Math.max(0, endMs - clock.elapsed()), clock)
    await app.close()
  }
  return {
    fastify: app,
    inFlight,
    bodies: createBodies(),
    room,
    draining: end.signal,
    async listen(host, port) {
      await listen(app, host, port)
      let closing: Promise<void> | undefined
      return {
        address: { host, port: (app.server.address() as AddressInfo).port },
        close(drainMs, before) {
          closing ??= close(drainMs, before)
          return closing
        },
      }
    },
  }
}

/** Answers with a JSON-RPC error. */
export function respond(reply: FastifyReply, status: number, code: number, message: string): void {
  reply.code(status).type(JSON_TYPE).send(errorText(null, { code, message }))
}

function bareApp(log: Log): FastifyInstance {
  const refuse = (error: HttpError, reply: FastifyReply): void => answerError(log, error, reply)
  const app = fastify({
    forceCloseConnections: true,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      // Joins two Authorization headers to one that is invalid, instead of taking the first.
      joinDuplicateHeaders: true,
      headersTimeout: HEAD_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    },
    exposeHeadRoutes: false,
    // Nothing uses fastify's ids of requests.
    genReqId: () => '',
    routerOptions: { ignoreTrailingSlash: true },
    frameworkErrors: (error, _request, reply) => refuse(error, reply),
    clientErrorHandler: answerBroken,
  })
  // The handler reads the body itself.
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
    app.addHttpMethod(method, { overrideExisting: true })
  app.setErrorHandler((error: HttpError, _request, reply) => refuse(error, reply))
  app.setNotFoundHandler((request, reply) => {
    const asked = `${request.method} ${request.url.slice(0, 200)}`
    respond(reply, 404, TRANSPORT_ERROR, `Nothing is served at ${asked}`)
  })
  return app
}

type HttpError = Error & { statusCode?: number }

/** Answers errors that occurred before a handler ran, such as an unsupported content type or an invalid path. */
function answerError(log: Log, error: HttpError, reply: FastifyReply): void {
  const status = error.statusCode ?? 500
  if (status < 500) {
    respond(reply, status, TRANSPORT_ERROR, error.message)
  } else {
    log.error({ err: error }, 'HTTP request failed unexpectedly')
    respond(reply, status, INTERNAL_ERROR, 'Internal error')
  }
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<void> {
  try {
    await listenOn(host, host => app.listen({ host, port }))
  } catch (cause) {
    await app.close()
    const code = (cause as NodeJS.ErrnoException).code
    const details = { port }
    if (code === 'EADDRINUSE') {
      const message = `Port ${port} on ${host} is already in use; choose another with --port, or stop what uses it.`
      throw new Fault('unavailable', message, { cause, details })
    }
    throw new Fault('unavailable', `Cannot listen on ${host} port ${port}: ${messageOf(cause)}`, {
      cause,
      details,
    })
  }
}
