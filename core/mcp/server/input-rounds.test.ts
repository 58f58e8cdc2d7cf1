/** Answers to a server of the 2026 era, whatever the keys of its questions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import type { JsonObject } from '../../json.ts'
import { createCaller } from '../caller.ts'
import type { McpHandler, McpRequest } from './handler.ts'
import { answerInputRounds } from './input-rounds.ts'

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

/** The outcome of a call with this first reply, and the params with which it was repeated. */
async function rounds(first: string) {
  const repeated: JsonObject[] = []
  const handler: McpHandler = {
    describe: () => undefined,
    async handle({ params }: McpRequest) {
      repeated.push(params)
      return { result: {} }
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
  const answered = await answerInputRounds(handler, request, JSON.parse(first), createManualClock())
  return { repeated, answered }
}
