/** Serves a bridge's metrics on a separate port, without TLS and bearer token: a NetworkPolicy restricts who can read them. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { listen } from '../core/addresses.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { METRICS_TYPE } from './metrics.ts'

const MAX_CONNECTIONS = 16
const REQUEST_TIMEOUT_MS = 10_000

export type MetricsServer = { port: number | undefined; close(): void }

/** Never throws: if the server's process uses the port itself, the bridge serves calls without metrics. */
export async function serveMetrics(
  text: () => string,
  host: string,
  port: number,
  log: Log,
): Promise<MetricsServer> {
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': METRICS_TYPE }).end(text())
  })
  server.maxConnections = MAX_CONNECTIONS
  try {
    await listen(server, host, port)
  } catch (error) {
    log.warn({ port, error: messageOf(error) }, 'no metrics: the port cannot be used')
    return { port: undefined, close() {} }
  }
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
