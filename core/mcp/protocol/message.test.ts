/** How requests, notifications of progress and header values are written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { callOf } from '../../../test/support/call.ts'
import { createCaller } from '../caller.ts'
import { envelopeOf } from './envelope.ts'
import { decodeHeaderValue, encodeHeaderValue } from './header-value.ts'
import { notifyCaller, requestText } from './message.ts'

const call = { method: 'tools/call', maxBytes: 1 }

test('arguments are sent as the caller wrote them, on one line, even if other parts change', () => {
  const argumentsText = '{\n"n":12345678901234567890,\r\n"s":"a\\nb"}'
  const params = { name: 'a', arguments: { n: 1 }, _meta: { progressToken: 'mine', x: 1 } }
  const text = requestText(7, { ...call, params, argumentsText })
  assert.ok(text.includes('"arguments":{ "n":12345678901234567890,  "s":"a\\nb"}}'))
  assert.doesNotMatch(text, /[\r\n]/)
  assert.deepEqual(JSON.parse(text).params._meta, { progressToken: 7, x: 1 })
  const minimal = requestText(8, { ...call, params: { arguments: {} }, argumentsText: '{}' })
  assert.equal(minimal, '{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"arguments":{}}}')
})

test('a request is the same with and without the text of its arguments', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.boolean(), (args, other, modern) => {
      const params = { name: 'a', arguments: { args }, other } as never
      const envelope = modern ? envelopeOf(createCaller({ logLevel: 'info' }), '2026-07-28') : undefined
      const argumentsText = JSON.stringify({ args })
      assert.deepEqual(
        JSON.parse(requestText(1, { ...call, params, argumentsText }, envelope)),
        JSON.parse(requestText(1, { ...call, params }, envelope)),
      )
    }),
  )
})

test('progress reaches a caller under its own token, and only if the caller gave one', () => {
  const received: unknown[] = []
  const listening = callOf({ notify: one => void received.push(one) })
  const progress = { method: 'notifications/progress', params: { progressToken: 1, progress: 5 } }
  notifyCaller(listening, progress)
  notifyCaller({ ...listening, params: { _meta: { traceparent: 'x' } } }, progress)
  assert.deepEqual(received, [])
  notifyCaller({ ...listening, params: { _meta: { progressToken: 'mine' } } }, progress)
  assert.deepEqual(received, [{ method: progress.method, params: { progressToken: 'mine', progress: 5 } }])
})

test('every text can be sent as the value of a header', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), text => {
      const value = encodeHeaderValue(text)
      assert.match(value, /^[\x20-\x7E\t]+$/)
      assert.equal(value, value.trim())
      assert.equal(decodeHeaderValue(value), text)
    }),
  )
  for (const text of ['', ' a', 'a ', '=?base64?YQ==?=', 'a\r\nb: c', '検索'])
    assert.match(encodeHeaderValue(text), /^=\?base64\?.*\?=$/)
  for (const text of ['a', 'a b', 'file:///x?y=z', '~']) assert.equal(encodeHeaderValue(text), text)
})
