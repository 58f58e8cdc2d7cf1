/** An HTTP server for fixtures, which closes all connections at the end, so that no test waits for an open stream. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

export type Served = { origin: string; port: number; close(): Promise<void> }

export async function serve(
  handle: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
  port = 0,
  host = '127.0.0.1',
): Promise<Served> {
  const server = createServer((request, response) => {
    Promise.resolve(handle(request, response)).catch(error => response.destroy(error))
  })
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  const bound = typeof address === 'object' && address ? address.port : 0
  return {
    origin: `http://127.0.0.1:${bound}`,
    port: bound,
    async close() {
      server.close()
      server.closeAllConnections()
      if (server.listening) await once(server, 'close')
    },
  }
}

/** The parsed body of a POST; undefined if it is not JSON. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : undefined
}
