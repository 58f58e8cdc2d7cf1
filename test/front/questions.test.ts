/** Questions to callers of both eras: real clients of the SDKs over real HTTP, and plain requests for misbehaviour. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { legacyClient, modernClient } from '../support/answering-clients.ts'
import { ANSWERS, CAN_ALL, QUESTIONS } from '../upstreams/asking/questions.ts'
import { startAskingFront } from './asking-front.ts'
import { errorOf, modern, modernHeaders, post } from './post.ts'

const CAN_BE_ASKED = { 'io.modelcontextprotocol/clientCapabilities': CAN_ALL }
const ALL = Object.values(QUESTIONS) as JsonObject[]
const ALL_ANSWERS = Object.values(ANSWERS) as JsonObject[]

for (const [era, connect] of [
  ['2025', legacyClient],
  ['2026', modernClient],
] as const) {
  test(`a ${era} client answers all questions of a call, asked at once`, async t => {
    const { url, clients } = await startAskingFront(t)
    const { call, asked } = await connect(t, url)
    const answers = JSON.parse(await call('ask', { questions: ALL }))
    assert.deepEqual(
      answers,
      ALL_ANSWERS.map(result => ({ result })),
    )
    assert.equal(asked.length, 4)
    assert.equal(clients.asks.size + clients.held.size, 0)
  })

  test(`a ${era} client answers questions one after another, and gets notifications between them`, async t => {
    const { url } = await startAskingFront(t)
    const { call, asked, heard } = await connect(t, url)
    const answers = JSON.parse(await call('askInTurn', { questions: ALL }))
    assert.deepEqual(
      answers,
      ALL_ANSWERS.map(result => ({ result })),
    )
    assert.equal(asked.length, 4)
    const notified = heard.map(({ params }) => params?.data)
    assert.deepEqual(notified, era === '2025' ? [0, 1, 2, 3, 4] : [])
  })

  test(`a ${era} client answers questions of a 2026 server, in several rounds`, async t => {
    const { url } = await startAskingFront(t)
    const { call, asked } = await connect(t, url)
    const { inputResponses, requestState } = JSON.parse(await call('input', { questions: ALL, rounds: 3 }))
    assert.deepEqual(Object.values(inputResponses), ALL_ANSWERS)
    assert.equal(requestState, '3')
    assert.equal(asked.length, 12)
  })

  test(`a ${era} client is never asked for what it did not declare`, async t => {
    const { url } = await startAskingFront(t)
    const { call, asked } = await connect(t, url, { elicitation: {} })
    const [form, ...others] = JSON.parse(await call('ask', { questions: ALL }))
    assert.deepEqual(form, { result: ANSWERS.form })
    for (const { error } of others) assert.equal(error.code, -32601)
    assert.deepEqual(asked, ['elicitation/create'])
    const refused = call('input', { questions: [QUESTIONS.sampling] })
    await assert.rejects(refused, { code: -32021, data: { requiredCapabilities: { sampling: {} } } })
    assert.equal(asked.length, 1)
  })
}

test('questions to a client without capabilities are refused', async t => {
  const { url, seen } = await startAskingFront(t)
  for (const connect of [legacyClient, modernClient]) {
    const { call } = await connect(t, url, {})
    assert.deepEqual(JSON.parse(await call('ask', { questions: ALL })), [null, null, null, null])
  }
  assert.ok(
    seen.every(request => request.caller.ask === undefined && request.caller.capabilities === undefined),
  )
})

test("the handler gets the client's capabilities, for a session as declared in initialize", async t => {
  const { url, seen } = await startAskingFront(t)
  for (const connect of [legacyClient, modernClient]) {
    const { call } = await connect(t, url)
    await call('echo')
    assert.deepEqual(seen.at(-1)?.caller.capabilities, CAN_ALL)
  }
})

test('a server that never stops asking is refused after sixteen rounds', async t => {
  const { url } = await startAskingFront(t)
  const { call, asked } = await legacyClient(t, url)
  await assert.rejects(call('input', { questions: [QUESTIONS.form], rounds: 100 }), /after 16 rounds/)
  assert.equal(asked.length, 16)
})

test('if a 2025 client answers with an error, the call of a 2026 server ends with an error that says so', async t => {
  const { url } = await startAskingFront(t)
  const { client, call } = await legacyClient(t, url)
  client.removeRequestHandler('roots/list')
  await assert.rejects(call('input', { questions: [QUESTIONS.roots] }), /answered roots\/list with an error/)
})

test('questions of unknown kinds are not passed on', async t => {
  const { url } = await startAskingFront(t)
  const odd = { method: 'wallet/open', params: {} }
  for (const connect of [legacyClient, modernClient]) {
    const { call } = await connect(t, url)
    const [{ error }] = JSON.parse(await call('ask', { questions: [odd] }))
    assert.equal(error.code, -32601)
  }
  const { call } = await legacyClient(t, url)
  await assert.rejects(call('input', { questions: [odd] }), /no client of this revision can be asked/)
})

test('a URL that a 2025 server wants visited is a question to a 2026 client, after which the call is repeated', async t => {
  const { url, seen, clients } = await startAskingFront(t)
  const { call, asked } = await modernClient(t, url)
  assert.deepEqual(JSON.parse(await call('visit', { a: 1 })).params.arguments, { a: 1 })
  assert.deepEqual(asked, ['elicitation/create'])
  assert.equal(clients.held.size, 0)
  assert.equal(seen.length, 2)
  assert.equal(seen[1]?.params.inputResponses ?? seen[1]?.params.requestState, undefined)
})

test('a 2026 client without the capability gets no URL, and if its user declines, the call ends', async t => {
  const { url, seen } = await startAskingFront(t)
  const { call } = await modernClient(t, url, { elicitation: { form: {} } })
  await assert.rejects(call('visit'), { code: -32021 })
  const other = await startAskingFront(t)
  const { call: refusing, client } = await modernClient(t, other.url)
  client.setRequestHandler('elicitation/create', () => ({ action: 'decline' as const }))
  await assert.rejects(refusing('visit'), { code: -32602, message: /the user declined/ })
  assert.equal(seen.length + other.seen.length, 2)
})

test('a request that cannot be repeated with answers gets the error with the URL instead of a question', async t => {
  const { url } = await startAskingFront(t)
  const body = modern('completion/complete', { name: 'visit' }, CAN_BE_ASKED)
  assert.equal(errorOf(await post(url, body, modernHeaders('completion/complete'))).code, -32042)
})

test('elicitation/complete is sent to a 2025 client, and ignored for a 2026 one', async t => {
  const { url } = await startAskingFront(t)
  const heard: string[][] = []
  for (const connect of [legacyClient, modernClient]) {
    const client = await connect(t, url)
    const answer = await client.call('askForVisit', { question: QUESTIONS.url })
    assert.deepEqual(JSON.parse(answer), { result: ANSWERS.url })
    heard.push(client.heard.map(({ method }) => method))
  }
  assert.deepEqual(heard, [['notifications/elicitation/complete'], []])
})

test("a 2025 client gets the server's own error with the URL", async t => {
  const { url } = await startAskingFront(t)
  const { call } = await legacyClient(t, url)
  await assert.rejects(call('visit'), { code: -32042 })
})
