/** How the health server answers unusual requests. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { createLog } from '../../core/log.ts'
import { serveHealth } from './health-server.ts'
import { createOperatorMetrics } from './operator-metrics.ts'

test('an invalid path is answered with 404, and not logged as a bug', async t => {
  const log = createLog({ level: 'silent' })
  const options = { port: 0, obstacle: () => undefined, metrics: createOperatorMetrics(), log }
  const server = await serveHealth(options)
  t.after(() => server.close())
  const ask = async (path: string) => {
    const request = get({ host: '127.0.0.1', port: server.port, path })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode
  }
  assert.deepEqual([await ask('//'), await ask('/healthz?verbose'), await ask('/other')], [404, 200, 404])
})
