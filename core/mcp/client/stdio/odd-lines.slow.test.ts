/** Unusual output of a child: messages that are nested too deeply, log lines that resemble an answer, and an answer that never comes. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { rudeCommand, textOf, toolCall } from '../../../../test/upstreams/rude/rude.ts'
import { type Clock, systemClock } from '../../../async.ts'
import { MAX_VALUES } from '../../../parse-json.ts'
import type { Notification, ServerRequest } from '../../protocol/json-rpc.ts'
import { ChildSession } from './child-session.ts'

const { signal } = new AbortController()
const LEVELS = 20_000

async function open(t: TestContext, mode = 'polite', clock: Clock = systemClock) {
  const warnings: object[] = []
  const session = new ChildSession(
    { ...rudeCommand(mode), startTimeoutMs: 20_000, clientCapabilities: { roots: {} } },
    {
      clock,
      memory: {},
      log: { info() {}, warn: fields => warnings.push(fields) },
      onListChanged: () => {},
    },
  )
  t.after(() => session.stop())
  await session.ready
  return { session, warnings }
}

test('messages nested too deeply are not passed on, and the child is told of its question', async t => {
  const { session, warnings } = await open(t)
  const heard: Notification[] = []
  const asked: ServerRequest[] = []
  const call = callOf({
    ...toolCall('deep', { levels: LEVELS }),
    notify: notification => void heard.push(notification),
    ask: async question => {
      asked.push(question)
      return { result: { roots: [] } }
    },
  })
  assert.equal(textOf(await session.request(call, signal)), 'sent')
  assert.deepEqual(
    heard.map(({ params }) => params),
    [{ data: 'flat' }],
  )
  assert.deepEqual(asked, [])
  assert.equal(warnings.length, 1)
  const [reply] = JSON.parse(textOf(await session.request(toolCall('seen'), signal))).slice(-1)
  assert.match(reply.error.message, /nested too deeply/)
})

test('an answer with too many values fails only its call, and the child is told of such a question', async t => {
  const { session } = await open(t)
  const call = { ...toolCall('many_values', { values: MAX_VALUES }), maxBytes: 64 * 1024 * 1024 }
  const other = session.request(toolCall('sleep', { ms: 1 }), signal)
  const message = 'The answer has more than 500000 values: ask for less'
  await assert.rejects(session.request(call, signal), { code: 'upstream_too_large', message })
  assert.equal(textOf(await other), 'slept')
  const [reply] = JSON.parse(textOf(await session.request(toolCall('seen'), signal))).slice(-1)
  assert.match(reply.error.message, /has more than 4194304 bytes or 500000 values/)
})

test('a request that is too deep to be sent is not in flight afterwards', async t => {
  const { session } = await open(t)
  const heard: Notification[] = []
  const notify = (notification: Notification) => void heard.push(notification)
  const params = { name: 'echo', a: JSON.parse('['.repeat(LEVELS) + ']'.repeat(LEVELS)) }
  await assert.rejects(session.request(callOf({ params, notify }), signal), RangeError)
  await session.request(toolCall('keep', { text: 'kept', answer: 1 }), signal)
  assert.equal(textOf(await session.request(toolCall('tell_kept'), signal)), 'told')
  assert.deepEqual(heard, [])
})

test('a line of a log that mentions a call in flight does not end it', async t => {
  const { session, warnings } = await open(t)
  assert.equal(textOf(await session.request(toolCall('log_call'), signal)), 'logged')
  assert.equal(warnings.length, 1)
})

test('a call does not wait for the answer to logging/setLevel, and that request is cancelled after two seconds', async t => {
  const clock = createManualClock()
  const { session } = await open(t, 'silent-to-set-level', clock)
  const call = callOf({ ...toolCall('echo', { text: 'here' }), logLevel: 'info' })
  assert.equal(textOf(await session.request(call, signal)), 'here')
  clock.advance(2_000)
  await new Promise(setImmediate)
  const seen = JSON.parse(textOf(await session.request(toolCall('seen'), signal)))
  assert.equal(seen.at(-1).method, 'notifications/cancelled')
})
