/** A proxy that adds a caller's token to each request and passes everything else on as it is, streams included. */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** `origin`: of the gateway behind it. */
export async function startTokenProxy(origin: string, token: string) {
  const { hostname, port } = new URL(origin)
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    const sent = { ...headers, authorization: `Bearer ${token}` }
    const passed = request({ hostname, port, method, path: url, headers: sent }, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    outgoing.on('close', () => passed.destroy())
    incoming.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
