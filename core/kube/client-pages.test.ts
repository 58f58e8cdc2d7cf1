/** Lists of objects that are together larger than an answer may be, from a real HTTP server. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { KubeClient } from './client.ts'

const QUERY = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'ns' }
/** As large as etcd's largest objects. */
const LARGE = 'x'.repeat(1.4 * 2 ** 20)

test('a page that is too large is asked for again with fewer objects, and no object is lost', async t => {
  const { client, asked } = await start(t, 30, LARGE)
  const { items, resourceVersion } = await client.list(QUERY)
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    Array.from({ length: 30 }, (_, at) => `c${at}`),
  )
  assert.equal(resourceVersion, '7')
  assert.deepEqual(asked, ['250 from 0', '125 from 0', '62 from 0', '31 from 0', '15 from 0', '15 from 15'])
})

test('a list with an object that is too large by itself fails', async t => {
  const { client, asked } = await start(t, 1, 'x'.repeat(40 * 2 ** 20))
  await assert.rejects(client.list(QUERY), { reason: 'TooLarge' })
  assert.equal(asked.at(-1), '1 from 0')
})

/** A client of a server with so many ConfigMaps, each with this text. */
async function start(t: TestContext, count: number, text: string) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://localhost').searchParams
    const [limit, from] = [Number(query.get('limit')), Number(query.get('continue') ?? 0)]
    asked.push(`${limit} from ${from}`)
    const end = Math.min(from + limit, count)
    const items = Array.from({ length: end - from }, (_, at) => ({
      metadata: { name: `c${from + at}` },
      data: { text },
    }))
    const metadata = { resourceVersion: '7', ...(end < count && { continue: `${end}` }) }
    response.end(JSON.stringify({ metadata, items }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = new KubeClient({
    server: address,
    namespace: 'ns',
    credentials: async () => ({ headers: {}, tls: {} }),
  })
  t.after(async () => {
    await client.close()
    server.closeAllConnections()
    server.close()
  })
  return { client, asked }
}
