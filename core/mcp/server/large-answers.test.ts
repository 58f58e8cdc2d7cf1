/** Large answers: those of a batch are bounded together. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { legacy, post } from '../../../test/front/post.ts'
import { systemClock } from '../../async.ts'
import { createLog } from '../../log.ts'
import { ANONYMOUS } from '../identity.ts'
import { createEndpoint } from './endpoint.ts'
import type { McpHandler } from './handler.ts'
import { InFlight } from './in-flight.ts'
import { createSessions } from './session-ids.ts'

const MIB = 1024 * 1024

/** A front whose handler answers each call with a result of `characters`. */
async function start(t: TestContext, characters: number) {
  const resultText = `{"text":"${'x'.repeat(characters)}"}`
  const handler: McpHandler = {
    describe: () => undefined,
    handle: async () => ({ result: {}, resultText }),
  }
  const sessions = createSessions({ key: 'key', owner: 'one', clock: systemClock })
  const inFlight = new InFlight()
  const endpoint = createEndpoint({ handler, sessions, inFlight, log: createLog({ level: 'silent' }) })
  const server = createServer(async (request, raw) => {
    const body = (await request.setEncoding('utf8').toArray()).join('')
    endpoint.post({ kind: 'server', server: 'large' }, request.headers, body, ANONYMOUS, raw)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    endpoint.end()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/mcp`, port, inFlight }
}

function batchOf(size: number) {
  return Array.from({ length: size }, (_, id) => legacy('tools/call', { name: 'x' }, id))
}

test('the answers of a batch that are too large together are errors, and the first ones are sent', async t => {
  const { url } = await start(t, 20 * MIB)
  const { status, text } = await post(url, batchOf(45))
  assert.equal(status, 200)
  const answers = JSON.parse(text) as { id: number; result?: object; error?: { message: string } }[]
  assert.deepEqual(
    answers.map(({ id }) => id),
    batchOf(45).map(({ id }) => id),
  )
  assert.equal(answers.filter(({ result }) => result).length, 3)
  for (const { error } of answers.slice(3)) assert.match(error?.message ?? '', /fewer at once/)
})

test('an answer of the largest size is sent in a batch of one', async t => {
  const { url } = await start(t, 64 * MIB)
  const { text } = await post(url, batchOf(1))
  assert.ok(text.length > 64 * MIB)
})
