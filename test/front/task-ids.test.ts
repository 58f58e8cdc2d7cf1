/** The id of a task that a caller sees in questions and between its calls, if callers are distinguished. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { CAN_ALL, QUESTIONS } from '../upstreams/asking/questions.ts'
import { startAskingFront } from './asking-front.ts'
import { beginSession, readEvents } from './event-reader.ts'
import { legacy, modern, modernHeaders, post } from './post.ts'

const RELATED = 'io.modelcontextprotocol/related-task'
const META = { _meta: { [RELATED]: { taskId: 'T-1' } } }
const QUESTION = { ...QUESTIONS.form, params: { ...QUESTIONS.form.params, ...META } }
const never = new AbortController().signal

async function start(t: TestContext) {
  const front = await startAskingFront(t, { knowsCallers: true })
  const caller = { 'x-caller': 'ann' }
  const session = { ...caller, ...(await beginSession(front.url, CAN_ALL, caller)) }
  const call = await readEvents(t, front.url, session, callOf('ask'))
  const question = (await call.next()) as JsonObject
  const taskId = relatedOf(question.params)
  assert.match(taskId, /^portolan~/)
  return { front, caller, session, call, question, taskId }
}

function callOf(name: string) {
  return legacy('tools/call', { name, arguments: { questions: [QUESTION] } }, 'call')
}

function relatedOf(value: unknown): string {
  return (value as { _meta: { [RELATED]: { taskId: string } } })._meta[RELATED].taskId
}

function answerTo({ id }: JsonObject, taskId: string): JsonObject {
  return { jsonrpc: '2.0', id, result: { action: 'decline', _meta: { [RELATED]: { taskId } } } }
}

test('the task of a question is sealed, and that of its answer opened again', async t => {
  const { front, session, call, question, taskId } = await start(t)
  await post(front.url, answerTo(question, taskId), session)
  const { result } = (await call.next()) as { result: { content: [{ text: string }] } }
  assert.deepEqual(JSON.parse(result.content[0].text), [{ result: { action: 'decline', ...META } }])
})

test('a task has the same id in notifications and questions between calls', async t => {
  const { front, session, taskId } = await start(t)
  const client = front.seen.at(-1)?.caller.client as string
  const stream = await readEvents(t, front.url, session)
  await stream.beat()
  front.clients.notify(client, { method: 'notifications/tasks/status', params: { taskId: 'T-1' } })
  assert.deepEqual((await stream.next())?.params, { taskId })
  const answer = front.clients.asking(client, QUESTION)?.(QUESTION, never)
  const question = (await stream.next()) as JsonObject
  assert.equal(relatedOf(question.params), taskId)
  await post(front.url, answerTo(question, taskId), session)
  assert.deepEqual(await answer, { result: { action: 'decline', ...META } })
})

test('a task has the same id in the questions of a 2026 caller, and its own in the answers that the server gets', async t => {
  const { front, caller, taskId } = await start(t)
  const capabilities = { 'io.modelcontextprotocol/clientCapabilities': CAN_ALL }
  for (const name of ['ask', 'input']) {
    const request = async (more: JsonObject) => {
      const params = { name, arguments: { questions: [QUESTION] }, ...more }
      const headers = { ...modernHeaders('tools/call', name), ...caller }
      const { json } = await post(front.url, modern('tools/call', params, capabilities), headers)
      return json.result as JsonObject
    }
    const { inputRequests, requestState } = await request({})
    const [[key, question] = ['', {}]] = Object.entries(inputRequests as Record<string, JsonObject>)
    assert.equal(relatedOf(question.params), taskId)
    const { result } = answerTo({}, taskId) as { result: JsonObject }
    const { content } = await request({ inputResponses: { [key]: result }, requestState })
    assert.match(JSON.stringify(content), /T-1/)
    assert.doesNotMatch(JSON.stringify(content), /portolan~/)
  }
})
