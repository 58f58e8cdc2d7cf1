/** Answers that would take much memory to parse: they are refused like answers that are too large. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { until } from '../../../../test/support/until.ts'
import {
  answer,
  type Behaviour,
  type RudeServer,
  raw,
  startRude,
  stream,
} from '../../../../test/upstreams/http/rude.ts'
import { systemClock } from '../../../async.ts'
import { MAX_VALUES } from '../../../parse-json.ts'
import { connectRemote } from '../connect.ts'
import type { RemoteSpec } from './spec.ts'

const never = new AbortController().signal
const TOO_MANY = {
  code: 'upstream_too_large',
  message: 'The answer has more than 500000 values: ask for less',
}
const RESULT = { content: [] }

/** The answer to request `id`, 2 MB of empty lists. */
function many(id: unknown): string {
  return `{"jsonrpc":"2.0","id":${id},"result":{"list":[${'[],'.repeat(MAX_VALUES)}1]}}`
}

function connect(t: TestContext, server: RudeServer, transport: RemoteSpec['transport']) {
  const spec = { url: server.url, transport, sessions: 'shared', startTimeoutMs: 5_000 } as const
  const upstream = connectRemote(spec, { clock: systemClock })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  return (name = 'any') => upstream.request(callOf({ params: { name }, maxBytes: 64 * 1024 * 1024 }), never)
}

const forms: [string, Behaviour][] = [
  ['in a body', (response, { id }) => raw(200, 'application/json', many(id))(response, {}, response.req)],
  [
    'in a body that begins with a space',
    (response, { id }) => raw(200, 'application/json', ` ${many(id)}`)(response, {}, response.req),
  ],
  ['in an event', stream((response, { id }) => response.end(`data: ${many(id)}\n\n`))],
  [
    'in a notification before the answer',
    stream((response, { id }) => {
      response.write(
        `data: {"jsonrpc":"2.0","method":"x","params":{"list":[${'[],'.repeat(MAX_VALUES)}1]}}\n\n`,
      )
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: RESULT })}\n\n`)
    }),
  ],
]

for (const [title, behaviour] of forms)
  test(`too many values ${title} fail only this call`, async t => {
    const server = await startRude({
      'tools/call': (response, message, request) =>
        (message.params?.name === 'small' ? answer(RESULT) : behaviour)(response, message, request),
    })
    const call = connect(t, server, 'streamable-http')
    await assert.rejects(call(), TOO_MANY)
    assert.deepEqual((await call('small')).result, RESULT)
  })

test('an answer with too many values fails only its call of an SSE upstream', async t => {
  let send = (_text: string): void => {}
  const waiting: unknown[] = []
  const result = (id: unknown, result: object) => send(JSON.stringify({ jsonrpc: '2.0', id, result }))
  const server = await startRude({
    GET: stream(response => {
      send = text => response.write(`data: ${text}\n\n`)
      response.write('event: endpoint\ndata: /messages\n\n')
    }),
    initialize: (response, { id }) => {
      result(id, { protocolVersion: '2024-11-05', capabilities: {} })
      response.writeHead(202).end()
    },
    'tools/call': (response, { id, params }) => {
      if (params?.name === 'late') waiting.push(id)
      else {
        send(many(id))
        for (const late of waiting) result(late, RESULT)
      }
      response.writeHead(202).end()
    },
  })
  const call = connect(t, server, 'sse')
  const late = call('late')
  await until(() => waiting.length > 0)
  await assert.rejects(call(), TOO_MANY)
  assert.deepEqual((await late).result, RESULT)
})
