/** The operator's HTTP server: health and metrics. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ANY_ADDRESS, listen } from '../../core/addresses.ts'
import type { Log } from '../../core/log.ts'
import type { OperatorMetrics } from './operator-metrics.ts'

const REQUEST_TIMEOUT_MS = 10_000
const MAX_CONNECTIONS = 64

export type ServeOptions = {
  /** 0 for any free port. */
  port: number
  /** Why the operator is not ready; undefined if it is. */
  obstacle: () => string | undefined
  metrics: OperatorMetrics
  log: Log
}

export type HealthServer = { port: number; close(): Promise<void> }

/** Answers /healthz, /readyz and /metrics on all addresses. Throws Fault `unavailable` if the port is taken. */
export async function serveHealth(options: ServeOptions): Promise<HealthServer> {
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    answer(options, request.url ?? '', response).catch(error => {
      options.log.error({ err: error }, 'HTTP request failed unexpectedly')
      response.destroy()
    })
  })
  server.maxConnections = MAX_CONNECTIONS
  await listen(server, ANY_ADDRESS, options.port)
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(
  { obstacle, metrics }: ServeOptions,
  url: string,
  response: ServerResponse,
): Promise<void> {
  const [pathname] = url.split('?', 1)
  if (pathname === '/healthz') return send(response, 200, 'ok')
  if (pathname === '/readyz') {
    const reason = obstacle()
    return send(response, reason === undefined ? 200 : 503, reason ?? 'ok')
  }
  if (pathname !== '/metrics') return send(response, 404, 'Not found. Paths: /healthz, /readyz, /metrics')
  send(response, 200, await metrics.registry.metrics(), metrics.registry.contentType)
}

function send(response: ServerResponse, status: number, text: string, type = 'text/plain'): void {
  response.writeHead(status, { 'content-type': type }).end(text)
}
