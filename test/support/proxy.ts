/** An HTTP proxy that records the hosts it is asked for, which need not exist: all tunnels lead to one local port. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'

export type RecordingProxy = {
  url: string
  /** `mcp.example.com:443` of each CONNECT, with the credentials that came with it. */
  connects: { to: string; authorization: string | undefined }[]
  close(): Promise<void>
}

/** Connects every tunnel to `port` of 127.0.0.1. `credentials`: `user:password`, without which it answers 407. */
export async function startProxy(port: number, credentials?: string): Promise<RecordingProxy> {
  const connects: RecordingProxy['connects'] = []
  const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`
  const server = createServer((_request, response) => response.writeHead(501).end())
  server.on('connect', (request, socket, head) => {
    const authorization = request.headers['proxy-authorization']
    connects.push({ to: request.url ?? '', authorization })
    socket.on('error', () => {})
    if (expected && authorization !== expected) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n')
      return
    }
    const upstream = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.write(head)
      socket.pipe(upstream).pipe(socket)
    })
    upstream.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
    socket.on('close', () => upstream.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connects,
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
