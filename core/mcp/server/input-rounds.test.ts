/** Answers to a server of the 2026 era, whatever the keys of its questions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import type { JsonObject } from '../../json.ts'
import { createCaller } from '../caller.ts'
import type { McpHandler, McpRequest } from './handler.ts'
import { answerInputRounds } from './input-rounds.ts'

const AGAIN = '{"resultType":"input_required","requestState":"s"}'

test('a question may have any key, also names like __proto__', async () => {
  const { repeated, answered } = await rounds(
    '{"inputRequests":{"__proto__":{"method":"roots/list"},"toString":{"method":"roots/list"}},"requestState":"s"}',
  )
  assert.deepEqual(answered, { result: {} })
  assert.equal(
    JSON.stringify(repeated),
    '[{"name":"x","inputResponses":{"__proto__":{"roots":[]},"toString":{"roots":[]}},"requestState":"s"}]',
  )
})

test('a call is not repeated for a reply without input requests and state', async () => {
  for (const first of ['{}', '{"inputRequests":{}}', '{"inputRequests":[1]}']) {
    const { repeated, answered } = await rounds(first)
    assert.match(answered.error?.message ?? '', /neither a question nor a state/)
    assert.deepEqual(repeated, [])
  }
})

test('a server that only asks to be called again is called at ever longer intervals, until it is done', async () => {
  const clock = createManualClock()
  const times: number[] = []
  const { repeated, answered } = await rounds(AGAIN, clock, () => {
    times.push(clock.now())
    return times.length < 30 ? JSON.parse(AGAIN) : {}
  })
  assert.deepEqual(answered, { result: {} })
  assert.equal(repeated.length, 30)
  assert.deepEqual(times.slice(0, 7), [250, 750, 1_750, 3_750, 7_750, 12_750, 17_750])
})

test('a server that asks to be called again without end is given up after ten minutes', async () => {
  const clock = createManualClock()
  const { answered } = await rounds(AGAIN, clock, () => JSON.parse(AGAIN))
  assert.match(answered.error?.message ?? '', /still asks to be called again after 10 minutes/)
  assert.ok(clock.now() >= 600_000 && clock.now() < 610_000)
})

/** The outcome of a call with this first reply, and the params with which it was repeated. `reply`: what is replied to these. */
async function rounds(first: string, clock = createManualClock(), reply: () => JsonObject = () => ({})) {
  const repeated: JsonObject[] = []
  const handler: McpHandler = {
    describe: () => undefined,
    async handle({ params }: McpRequest) {
      repeated.push(params)
      return { result: reply() }
    },
  }
  const request: McpRequest = {
    id: 1,
    method: 'tools/call',
    params: { name: 'x' },
    route: { kind: 'server', server: 'x' },
    caller: createCaller({ capabilities: { roots: {} }, ask: async () => ({ result: { roots: [] } }) }),
    text: undefined,
  }
  let isOver = false
  const answering = answerInputRounds(handler, request, JSON.parse(first), clock).finally(() => {
    isOver = true
  })
  while (!isOver) {
    if (clock.pending() > 0) clock.advance(250)
    await new Promise(setImmediate)
  }
  return { repeated, answered: await answering }
}
