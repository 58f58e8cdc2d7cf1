/** What is kept of subscriptions, and of updates that come before `subscriptions/listen` is acknowledged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import { SLOW_MS, SLOW_URI, startAskingFront } from './asking-front.ts'
import { beginSession, readEvents } from './event-reader.ts'
import { errorOf, legacy, modern, modernHeaders, post } from './post.ts'

test('an update that comes before the acknowledgement is sent after it, without what its server added', async t => {
  const front = await startAskingFront(t)
  const uri = 'note://one'
  const body = modern('subscriptions/listen', { notifications: { resourceSubscriptions: [uri, SLOW_URI] } })
  const opening = readEvents(t, front.url, modernHeaders('subscriptions/listen'), body)
  await until(() => front.subscribed.length === 2)
  const padding = 'x'.repeat(1_000_000)
  const params = { uri, padding, _meta: { padding } }
  front.subscribed[0]?.onUpdate({ method: 'notifications/resources/updated', params })
  front.clock.advance(SLOW_MS)
  const stream = await opening
  assert.equal((await stream.next())?.method, 'notifications/subscriptions/acknowledged')
  const _meta = { 'io.modelcontextprotocol/subscriptionId': 7 }
  assert.deepEqual((await stream.next())?.params, { uri, _meta })
})

test('a subscription with a URI that is too long is refused', async t => {
  const { url, subscribed } = await startAskingFront(t)
  const session = await beginSession(url)
  const uri = `note://${'x'.repeat(10_000)}`
  const listen = modern('subscriptions/listen', { notifications: { resourceSubscriptions: [uri] } })
  for (const refused of [
    await post(url, legacy('resources/subscribe', { uri }), session),
    await post(url, listen, modernHeaders('subscriptions/listen')),
  ]) {
    assert.equal(errorOf(refused).code, -32602)
    assert.match(String(errorOf(refused).message), /more than 8448 characters/)
  }
  assert.equal(subscribed.length, 0)
  const longest = `note://${'x'.repeat(8_192)}`
  assert.ok((await post(url, legacy('resources/subscribe', { uri: longest }), session)).json.result)
})
