/** Answers to a server of the 2026 era, whatever it calls its questions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import type { JsonObject } from '../../json.ts'
import type { McpHandler, McpRequest } from './handler.ts'
import { goThroughRounds } from './input-rounds.ts'

test('a question may have any key, one that means something to objects too', async () => {
  const first = JSON.parse(
    '{"inputRequests":{"__proto__":{"method":"roots/list"},"toString":{"method":"roots/list"}},"requestState":"s"}',
  )
  const repeated: JsonObject[] = []
  const handler: McpHandler = {
    describe: () => undefined,
    async handle({ params }: McpRequest) {
      repeated.push(params)
      return { result: {} }
    },
  }
  const request: McpRequest = {
    method: 'tools/call',
    params: { name: 'x' },
    route: { kind: 'server', server: 'x' },
    capabilities: { roots: {} },
    ask: async () => ({ result: { roots: [] } }),
    signal: new AbortController().signal,
  }
  await goThroughRounds(handler, request, first, createManualClock())
  assert.equal(
    JSON.stringify(repeated),
    '[{"name":"x","inputResponses":{"__proto__":{"roots":[]},"toString":{"roots":[]}},"requestState":"s"}]',
  )
})
