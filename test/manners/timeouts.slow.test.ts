/** Clients that send a request too slowly. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { createLog } from '../../core/log.ts'
import { createApp } from '../../router/http/app.ts'
import { answersIn, HOST, talk } from './raw.ts'

test('a request that arrives too slowly gets 408, and a silent connection is closed', async t => {
  const origin = await startImpatient(t)
  const silent = talk(origin)
  const head = talk(origin, 'POST / HTTP/1.1\r\nhost: local')
  const body = talk(origin, `POST / HTTP/1.1\r\n${HOST}\r\ncontent-length: 10\r\n\r\n{`)
  const [nothing, ...answers] = await Promise.all([silent, head, body])
  assert.ok(nothing === '' || nothing.startsWith('HTTP/1.1 408'))
  for (const text of answers) {
    const [answer] = answersIn(text)
    assert.equal(answer?.status, 408, text)
    assert.match(answer.body, /took too long to arrive/)
  }
})

/** A router's HTTP app with short time limits, which are still checked only every 5 s. */
async function startImpatient(t: TestContext): Promise<string> {
  const app = createApp({ log: createLog({ level: 'silent' }), clock: systemClock })
  app.fastify.server.headersTimeout = 500
  app.fastify.server.requestTimeout = 1_000
  app.fastify.post('/', (request, reply) => {
    reply.hijack()
    app.bodies.read(request.raw, reply.raw, () => reply.raw.end())
  })
  const server = await app.listen('127.0.0.1', 0)
  t.after(() => server.close(0))
  return `http://127.0.0.1:${server.address.port}`
}
