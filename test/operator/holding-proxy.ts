/** A proxy before an API server that holds one request back until the test releases it, and forwards all others unchanged. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Agent, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { Access } from '../../core/kube/access.ts'

export type HoldingProxy = {
  access: Access
  /** Holds the next request that begins like this: method and path, such as `PATCH /api/v1/…`. */
  hold(beginning: string): { arrived: Promise<void>; release(): void }
}

export async function startHoldingProxy(t: Pick<TestContext, 'after'>, api: Access): Promise<HoldingProxy> {
  const { headers, tls } = await api.credentials()
  const agent = new Agent({ ...tls, keepAlive: true })
  let held: { beginning: string; arrive(): void; released: Promise<void> } | undefined
  const forward = (asked: IncomingMessage, answer: ServerResponse): void => {
    const { method, url = '' } = asked
    const options = { agent, method, headers: { ...asked.headers, ...headers } }
    const sent = request(new URL(url, api.server), options, found => {
      answer.writeHead(found.statusCode ?? 502, found.headers)
      answer.flushHeaders()
      found.pipe(answer)
    })
    sent.on('error', () => answer.destroy())
    answer.on('close', () => sent.destroy())
    asked.pipe(sent)
  }
  const server = createServer(async (asked, answer) => {
    const found = held && `${asked.method} ${asked.url}`.startsWith(held.beginning) ? held : undefined
    if (found) {
      held = undefined
      found.arrive()
      await found.released
    }
    forward(asked, answer)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
    agent.destroy()
  })
  const { port } = server.address() as AddressInfo
  return {
    access: {
      ...api,
      server: `http://127.0.0.1:${port}`,
      credentials: async () => ({ headers: {}, tls: {} }),
    },
    hold(beginning) {
      const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      held = { beginning, arrive: arrived.resolve, released: released.promise }
      return { arrived: arrived.promise, release: released.resolve }
    },
  }
}
