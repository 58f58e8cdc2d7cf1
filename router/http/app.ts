/** What the HTTP servers of a router are made of: a fastify with limits, plain errors, and an end that loses no call. */
import type { AddressInfo } from 'node:net'
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { type Clock, delay } from '../../core/async.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { JSON_TYPE } from '../../core/mcp/front/exchange.ts'
import { InFlight } from '../../core/mcp/front/in-flight.ts'
import { INTERNAL_ERROR, PARSE_ERROR, TRANSPORT_ERROR } from '../../core/mcp/front/rejection.ts'
import { errorText } from '../../core/mcp/front/reply.ts'

export type App = {
  readonly fastify: FastifyInstance
  /** The MCP exchanges that the end waits for. */
  readonly inFlight: InFlight
  /** Aborts when the end begins. */
  readonly draining: AbortSignal
  /** Throws a Fault `io` where the port is taken or the address is not ours. */
  listen(host: string, port: number): Promise<HttpServer>
}

export type HttpServer = {
  address: { host: string; port: number }
  /** Stops accepting, waits up to `drainMs` for what is in flight, then closes every connection. Idempotent. */
  close(drainMs: number): Promise<void>
}

export type AppOptions = {
  log: Log
  clock: Clock
  /**
   * How long the end still takes requests, each on its connection's last: a caller that keeps its connection learns so that it needs
   * another one, before it loses a call. Default 0.
   */
  lingerMs?: number
}

export const MAX_BODY_BYTES = 4 * 1024 * 1024
const MAX_CONNECTIONS = 4_096
const REQUEST_TIMEOUT_MS = 60_000

export function createApp({ log, clock, lingerMs = 0 }: AppOptions): App {
  const app = bareApp(log)
  const inFlight = new InFlight()
  const end = new AbortController()
  async function close(drainMs: number): Promise<void> {
    end.abort()
    if (lingerMs > 0) await delay(clock, lingerMs)
    app.server.close()
    await inFlight.drain(drainMs, clock)
    await app.close()
  }
  return {
    fastify: app,
    inFlight,
    draining: end.signal,
    async listen(host, port) {
      await listen(app, host, port)
      let closing: Promise<void> | undefined
      return {
        address: { host, port: (app.server.address() as AddressInfo).port },
        close(drainMs) {
          closing ??= close(drainMs)
          return closing
        },
      }
    },
  }
}

/** An answer that says in JSON-RPC's words why there is no other. */
export function respond(reply: FastifyReply, status: number, code: number, message: string): void {
  reply.code(status).type(JSON_TYPE).send(errorText(null, { code, message }))
}

function bareApp(log: Log): FastifyInstance {
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    forceCloseConnections: true,
    requestTimeout: REQUEST_TIMEOUT_MS,
    exposeHeadRoutes: false,
  })
  app.server.maxConnections = MAX_CONNECTIONS
  app.removeAllContentTypeParsers()
  // The usual type by its name too: it is found without parsing the header.
  for (const type of [JSON_TYPE, '*'])
    app.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => refuse(log, error, reply))
  app.setNotFoundHandler((request, reply) => {
    const asked = `${request.method} ${request.url.slice(0, 200)}`
    respond(reply, 404, TRANSPORT_ERROR, `Nothing is served at ${asked}`)
  })
  return app
}

/** Errors before a handler ran: a body too large, cut off, or of an impossible type. */
function refuse(log: Log, error: Error & { statusCode?: number }, reply: FastifyReply): void {
  const status = error.statusCode ?? 500
  if (status >= 500) {
    log.error({ err: error }, 'HTTP request failed unexpectedly')
    respond(reply, status, INTERNAL_ERROR, 'Internal error')
  } else if (status === 413) {
    respond(reply, status, TRANSPORT_ERROR, `Payload too large: at most ${MAX_BODY_BYTES} bytes`)
  } else {
    respond(reply, status, status === 400 ? PARSE_ERROR : TRANSPORT_ERROR, error.message)
  }
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (cause) {
    await app.close()
    const code = (cause as NodeJS.ErrnoException).code
    const details = { port }
    if (code === 'EADDRINUSE') {
      const message = `Port ${port} on ${host} is already in use; choose another with --port, or stop what uses it.`
      throw new Fault('io', message, { cause, details })
    }
    throw new Fault('io', `Cannot listen on ${host} port ${port}: ${messageOf(cause)}`, { cause, details })
  }
}
