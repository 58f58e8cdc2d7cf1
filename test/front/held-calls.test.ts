/** Calls of the 2026 era that wait for their callers' answers, which may come late, twice, changed, or never. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { GATHER_MS } from '../../core/mcp/server/held-call.ts'
import { ANSWERS, CAN_ALL, QUESTIONS } from '../upstreams/asking/questions.ts'
import { type AskingFront, startAskingFront } from './asking-front.ts'
import { readEvents } from './event-reader.ts'
import { errorOf, modern, modernHeaders, post } from './post.ts'

const TEN_MINUTES_MS = 10 * 60_000
const DECLARED = { 'io.modelcontextprotocol/clientCapabilities': CAN_ALL }

type Asked = { requestState: string; keys: string[] }

function call(
  front: AskingFront,
  name: string,
  args: JsonObject,
  more: JsonObject = {},
  meta: JsonObject = {},
) {
  const params = { name, arguments: args, ...more }
  const body = modern('tools/call', params, { ...DECLARED, ...meta })
  return post(front.url, body, modernHeaders('tools/call', name))
}

/** A call whose answer is read as it arrives. */
function hanging(t: TestContext, front: AskingFront, name: string, more: JsonObject, meta: JsonObject = {}) {
  const params = { name, arguments: ONE, ...more }
  return readEvents(
    t,
    front.url,
    modernHeaders('tools/call', name),
    modern('tools/call', params, { ...DECLARED, ...meta }),
  )
}

async function askedBy(answer: ReturnType<typeof post>): Promise<Asked> {
  const { json, text } = await answer
  const { resultType, inputRequests, requestState } = (json.result ?? {}) as JsonObject
  assert.equal(resultType, 'input_required', text)
  return { requestState: String(requestState), keys: Object.keys(inputRequests as JsonObject) }
}

function textOf({ json, text }: Awaited<ReturnType<typeof post>>): JsonObject[] {
  const content = (json.result as JsonObject | undefined)?.content as [{ text: string }] | undefined
  assert.ok(content, text)
  return JSON.parse(content[0].text)
}

const ONE = { questions: [QUESTIONS.form] }
const TWO = { questions: [QUESTIONS.form, QUESTIONS.roots] }

test('a call with questions is answered input_required, and the repeated call with answers gets its result', async t => {
  const front = await startAskingFront(t)
  const { requestState, keys } = await askedBy(call(front, 'ask', TWO))
  assert.deepEqual(keys, ['elicitation-1', 'roots-2'])
  assert.equal(front.clients.held.size, 1)
  const inputResponses = { 'elicitation-1': ANSWERS.form, 'roots-2': ANSWERS.roots }
  const answer = await call(front, 'ask', TWO, { inputResponses, requestState })
  assert.deepEqual(textOf(answer), [{ result: ANSWERS.form }, { result: ANSWERS.roots }])
  assert.equal((answer.json.result as JsonObject).resultType, 'complete')
  assert.equal(front.seen.length, 1)
  assert.equal(front.clients.held.size, 0)
})

test('a question without an answer, or with an answer in an envelope, is asked again', async t => {
  const front = await startAskingFront(t)
  const first = await askedBy(call(front, 'ask', TWO))
  const wrapped = { method: 'roots/list', result: ANSWERS.roots }
  const some = { 'elicitation-1': ANSWERS.form, 'roots-2': wrapped }
  const second = await askedBy(call(front, 'ask', TWO, { ...first, inputResponses: some, keys: undefined }))
  assert.deepEqual(second.keys, ['roots-2'])
  assert.notEqual(second.requestState, first.requestState)
  const inputResponses = { 'roots-2': ANSWERS.roots }
  const { requestState } = second
  const answer = await call(front, 'ask', TWO, { inputResponses, requestState })
  assert.deepEqual(textOf(answer), [{ result: ANSWERS.form }, { result: ANSWERS.roots }])
})

test('a repeated call with another method, name or arguments is refused, and the first keeps waiting', async t => {
  const front = await startAskingFront(t)
  const { requestState } = await askedBy(call(front, 'ask', ONE))
  const inputResponses = { 'elicitation-1': ANSWERS.form }
  const more = { inputResponses, requestState }
  for (const answer of [
    await call(front, 'ask', TWO, more),
    await call(front, 'askInTurn', ONE, more),
    await call(front, 'ask', ONE, { ...more, task: {} }),
    await post(
      front.url,
      modern('prompts/get', { name: 'ask', arguments: ONE, ...more }, DECLARED),
      modernHeaders('prompts/get', 'ask'),
    ),
  ]) {
    assert.equal(errorOf(answer).code, -32602)
    assert.match(String(errorOf(answer).message), /another name or other arguments; call the tool again/)
  }
  const meta = { traceparent: '00-1-2-03' }
  assert.deepEqual(textOf(await call(front, 'ask', ONE, more, meta)), [{ result: ANSWERS.form }])
  assert.equal(front.seen.length, 1)
})

test('a state that was changed, used before, or made by another process is refused', async t => {
  const front = await startAskingFront(t)
  const { requestState } = await askedBy(call(front, 'ask', ONE))
  const inputResponses = { 'elicitation-1': ANSWERS.form }
  const end = requestState.at(-1) === 'A' ? 'B' : 'A'
  for (const tampered of [requestState.slice(0, -1) + end, requestState.replace('.one.', '.two.')]) {
    const answer = await call(front, 'ask', ONE, { inputResponses, requestState: tampered })
    assert.match(String(errorOf(answer).message), /not valid, or too old; call the tool again/)
  }
  const replica = await startAskingFront(t, { owner: 'two' })
  const refused = await call(replica, 'ask', ONE, { inputResponses, requestState })
  assert.equal(errorOf(refused).code, -32602)
  assert.match(String(errorOf(refused).message), /no longer waits; call the tool again/)
  assert.deepEqual(errorOf(refused).data, { reason: 'invalid_request_state' })
  await call(front, 'ask', ONE, { inputResponses, requestState })
  const again = await call(front, 'ask', ONE, { inputResponses, requestState })
  assert.match(String(errorOf(again).message), /no longer waits/)
  assert.equal(front.seen.length + replica.seen.length, 1)
})

test('a state of an upstream is passed to the handler with the responses, unchanged', async t => {
  const front = await startAskingFront(t)
  const more = { inputResponses: { q: { action: 'accept' } }, requestState: 'portolan~others.1' }
  const answer = await call(front, 'echo', { a: 1 }, more)
  const { params } = textOf(answer) as unknown as { params: JsonObject }
  assert.deepEqual(params, { name: 'echo', arguments: { a: 1 }, ...more })
})

test('a call without an answer ends after ten minutes', async t => {
  const front = await startAskingFront(t)
  const { requestState } = await askedBy(call(front, 'ask', ONE))
  front.clock.advance(TEN_MINUTES_MS - 1)
  assert.deepEqual(front.ended, [])
  front.clock.advance(1)
  await new Promise(setImmediate)
  assert.ok(front.ended.length > 0)
  assert.ok(
    front.ended.every(({ message }) => message === 'The client did not answer the question within 10 min.'),
  )
  assert.equal(front.clients.held.size, 0)
  const late = await call(front, 'ask', ONE, {
    requestState,
    inputResponses: { 'elicitation-1': ANSWERS.form },
  })
  assert.match(String(errorOf(late).message), /too old; call the tool again/)
})

test('a call continues if its caller leaves after a question, and its progress has the newest token', async t => {
  const front = await startAskingFront(t)
  const first = await hanging(t, front, 'askInTurn', {}, { progressToken: 'p' })
  assert.deepEqual((await first.next())?.params, { progressToken: 'p', progress: 0 })
  const { requestState } = ((await first.next())?.result ?? {}) as JsonObject
  first.close()
  const more = { inputResponses: { 'elicitation-1': ANSWERS.form }, requestState }
  const second = await hanging(t, front, 'askInTurn', more, { progressToken: 2 })
  assert.deepEqual((await second.next())?.params, { progressToken: 2, progress: 1 })
  assert.ok((await second.next())?.result)
  assert.deepEqual(front.ended, [])
})

test('a call ends if its caller leaves before a question, or while it brings answers', async t => {
  const front = await startAskingFront(t)
  const early = await hanging(t, front, 'askAndHang', { arguments: { questions: [] } })
  assert.equal((await early.next())?.method, 'notifications/hanging')
  const gone = once(front.seen[0]?.caller.signal as AbortSignal, 'abort')
  early.close()
  await gone
  const { requestState } = await askedBy(call(front, 'askAndHang', ONE))
  const more = { inputResponses: { 'elicitation-1': ANSWERS.form }, requestState }
  const second = await hanging(t, front, 'askAndHang', more)
  assert.equal((await second.next())?.method, 'notifications/hanging')
  const goneToo = once(front.seen[1]?.caller.signal as AbortSignal, 'abort')
  second.close()
  await goneToo
  assert.equal(front.inFlight.size, 0)
})

test('a call that ends before its question is answered keeps its result for the repeated call', async t => {
  const front = await startAskingFront(t)
  const { requestState } = await askedBy(call(front, 'askAndGo', ONE))
  const inputResponses = { 'elicitation-1': ANSWERS.form }
  const answer = await call(front, 'askAndGo', ONE, { requestState, inputResponses })
  assert.equal(textOf(answer) as unknown, 'went on')
})

test('of several repeated calls with the same state only one continues', async t => {
  const front = await startAskingFront(t)
  const { requestState } = await askedBy(call(front, 'ask', ONE))
  const more = { inputResponses: { 'elicitation-1': ANSWERS.form }, requestState }
  const answers = await Promise.all([1, 2, 3, 4].map(() => call(front, 'ask', ONE, more)))
  const refused = answers.filter(({ json }) => json.error)
  assert.equal(refused.length, 3)
  for (const answer of refused) assert.match(String(errorOf(answer).message), /no longer waits/)
})

test('a question is rejected if its call is over or its caller leaves, and nothing is kept', async t => {
  const front = await startAskingFront(t)
  const { signal } = new AbortController()
  const askFor = (at: number) => front.seen[at]?.caller.ask?.(QUESTIONS.form, signal)
  await call(front, 'echo', {})
  await assert.rejects(askFor(0) as Promise<unknown>, /The call is over/)
  const early = await hanging(t, front, 'askAndHang', { arguments: { questions: [] } })
  await early.next()
  const asked = assert.rejects(askFor(1) as Promise<unknown>, /went away/)
  early.close()
  await asked
  front.clock.advance(GATHER_MS)
  assert.equal(front.clients.held.size, 0)
})

test('the shutdown ends waiting calls with an error that says so', async t => {
  const front = await startAskingFront(t)
  await askedBy(call(front, 'ask', ONE))
  front.end()
  await new Promise(setImmediate)
  assert.ok(front.ended.length > 0)
  assert.ok(front.ended.every(({ message, retryable }) => message.includes('shutting down') && retryable))
  assert.equal(front.clients.held.size, 0)
  const [answer] = textOf(await call(front, 'ask', ONE)) as [{ error: JsonObject }]
  assert.match(String(answer.error.message), /cannot be asked now/)
})

test('at most 1,024 calls wait; the question of one more is refused', async t => {
  const front = await startAskingFront(t)
  for (let held = 0; held < 1_024; held += 64)
    await Promise.all(Array.from({ length: 64 }, () => askedBy(call(front, 'ask', ONE))))
  assert.equal(front.clients.held.size, 1_024)
  const [answer] = textOf(await call(front, 'ask', ONE)) as [{ error: JsonObject }]
  assert.match(String(answer.error.message), /too many calls wait/)
  front.clock.advance(TEN_MINUTES_MS)
  assert.equal(front.clients.held.size, 0)
})

test('of callers with credentials, one may let a sixteenth of the calls wait, and of the characters unless one call is longer', async t => {
  const front = await startAskingFront(t, { knowsCallers: true })
  const callAs = (caller: string, args: JsonObject) => {
    const body = modern('tools/call', { name: 'ask', arguments: args }, DECLARED)
    return post(front.url, body, { ...modernHeaders('tools/call', 'ask'), 'x-caller': caller })
  }
  const refused = async (caller: string, args: JsonObject) => {
    const [answer] = textOf(await callAs(caller, args)) as [{ error: JsonObject }]
    assert.match(String(answer.error.message), /too many calls wait/)
  }
  await Promise.all(Array.from({ length: 64 }, () => askedBy(callAs('red', ONE))))
  await refused('red', ONE)
  const long = { ...ONE, filler: 'x'.repeat(2 * 1024 * 1024) }
  await askedBy(callAs('blue', long))
  await refused('blue', long)
  await askedBy(callAs('green', long))
})

test('the bodies of all waiting calls are bounded in size together, and released when calls continue', async t => {
  const front = await startAskingFront(t)
  const args = { ...ONE, filler: 'x'.repeat(3.75 * 1024 * 1024) }
  const states: string[] = []
  for (let held = 0; held < 4; held++) states.push((await askedBy(call(front, 'ask', args))).requestState)
  const [answer] = textOf(await call(front, 'ask', args)) as [{ error: JsonObject }]
  assert.match(String(answer.error.message), /too many calls wait/)
  await askedBy(call(front, 'ask', ONE))
  const inputResponses = { 'elicitation-1': ANSWERS.form }
  await call(front, 'ask', args, { inputResponses, requestState: states[0] })
  await askedBy(call(front, 'ask', args))
})

test('the questions of waiting calls count towards this size, and are released with them', async t => {
  const front = await startAskingFront(t)
  const args = { characters: 3 * 1024 * 1024 }
  const states: string[] = []
  for (let held = 0; held < 5; held++) states.push((await askedBy(call(front, 'askLong', args))).requestState)
  const refused = async () => {
    const [answer] = textOf(await call(front, 'askLong', args)) as [{ error: JsonObject }]
    assert.match(String(answer.error.message), /too many calls wait/)
  }
  await refused()
  const inputResponses = { 'elicitation-1': ANSWERS.form }
  await call(front, 'askLong', args, { inputResponses, requestState: states[0] })
  await askedBy(call(front, 'askLong', args))
  await refused()
})
