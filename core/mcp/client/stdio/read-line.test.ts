/** How lines of servers are read, valid and malformed ones. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idInHead, idInTail, isAsking, readLine } from './read-line.ts'

test('answers in the form that the SDKs write are read with the text of their result', () => {
  const result = { content: [{ type: 'text', text: 'ü "quoted" }' }] }
  const resultText = JSON.stringify(result)
  for (const line of [
    `{"jsonrpc":"2.0","id":7,"result":${resultText}}`,
    `{"result":${resultText},"jsonrpc":"2.0","id":7}`,
    `{"result":${resultText},"jsonrpc":"2.0","id":7}\r`,
  ])
    assert.deepEqual(readLine(line), [{ kind: 'answer', id: 7, answer: { result, resultText } }])
})

test('a result whose text would add keys to the answer is passed on only as a value', () => {
  const [message] = readLine('{"result":{"a":1},"id":99,"result":{},"jsonrpc":"2.0","id":7}') ?? []
  assert.deepEqual(message, { kind: 'answer', id: 7, answer: { result: {} } })
})

test('other spellings, batches, errors, requests and notifications are understood', () => {
  assert.deepEqual(readLine(' { "id" : "7", "result" : {} , "jsonrpc" : "2.0" } '), [
    { kind: 'answer', id: '7', answer: { result: {} } },
  ])
  assert.deepEqual(readLine('[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":1,"method":"b"}]'), [
    { kind: 'notification', notification: { method: 'a' } },
    { kind: 'request', id: 1, method: 'b' },
  ])
  assert.deepEqual(readLine('{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}'), [
    { kind: 'answer', id: 1, answer: { error: { code: -1, message: 'no' } } },
  ])
})

test('a batch of more than 1,000 messages is refused: all would be handled in one turn of the event loop', () => {
  const batch = (messages: number) => JSON.stringify(Array(messages).fill({ method: 'a' }))
  assert.equal(readLine(batch(1_000))?.length, 1_000)
  assert.throws(() => readLine(batch(1_001)), { name: 'Fault', code: 'upstream_too_large' })
})

test('lines that are not JSON-RPC are ignored', () => {
  for (const line of ['Listening on 3000', '', '42', 'null', '[]', '{}', '{"half":', '"text"', '[1,2]'])
    assert.equal(readLine(line), undefined, line)
})

test('the id of a line that is too long is found at either end, if it belongs to the outermost object', () => {
  assert.equal(idInHead('{"jsonrpc":"2.0","id":12,"result":{"content":['), 12)
  assert.equal(idInHead('{ "id": "12", "jsonrpc": "2.0", "resu'), 12)
  assert.equal(idInHead('{"result":{"id":12,'), undefined)
  assert.equal(idInTail('xxxx"}]},"jsonrpc":"2.0","id":12}'), 12)
  assert.equal(idInTail('xxxx"}]},"id":12,"jsonrpc":"2.0"}\r'), 12)
  assert.equal(idInTail('xxxx,"id":12}}'), undefined)
  assert.equal(idInTail('xxxx\\"id\\":12}"}'), undefined)
})

test('a line that is too long and begins with a method is not an answer', () => {
  assert.equal(isAsking('{"jsonrpc":"2.0","method":"notifications/message","params":{'), true)
  assert.equal(isAsking('{"jsonrpc":"2.0","id":"a","method":"sampling/createMessage",'), true)
  assert.equal(isAsking('{"method":"notifications/message"'), true)
  assert.equal(isAsking('{"jsonrpc":"2.0","id":1,"result":{"method":"x"'), false)
})
