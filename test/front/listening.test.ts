/** What is kept of updates that come before `subscriptions/listen` is acknowledged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import { SLOW_MS, SLOW_URI, startAskingFront } from './asking-front.ts'
import { readEvents } from './event-reader.ts'
import { modern, modernHeaders } from './post.ts'

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
