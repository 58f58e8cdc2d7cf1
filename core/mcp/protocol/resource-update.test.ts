/** Notifications of resource updates as servers of both eras send them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { covers, readUpdate } from './resource-update.ts'
import { META_SUBSCRIPTION_ID } from './revisions.ts'

const method = 'notifications/resources/updated'

test('subscribers get the update without the id of our own subscription', () => {
  const plain = { method, params: { uri: 'a://1', title: 'one' } }
  assert.equal(readUpdate(plain)?.notification, plain)
  const own = { [META_SUBSCRIPTION_ID]: 7 }
  assert.deepEqual(
    readUpdate({ method, params: { uri: 'a://1', title: 'one', _meta: own } })?.notification,
    plain,
  )
  const _meta = { trace: 'x' }
  const traced = readUpdate({ method, params: { uri: 'a://1', _meta: { ...own, ..._meta } } })
  assert.deepEqual(traced, { uri: 'a://1', notification: { method, params: { uri: 'a://1', _meta } } })
  assert.equal(readUpdate({ method, params: { uri: 7 } }), undefined)
  assert.equal(readUpdate({ method }), undefined)
})

test('a subscription covers updates of parts of its resource, but not of longer names', () => {
  for (const [subscribed, uri] of [
    ['a://one', 'a://one'],
    ['a://one', 'a://one/part'],
    ['a://', 'a://one'],
  ] as const)
    assert.ok(covers(subscribed, uri), `${subscribed} ${uri}`)
  assert.ok(!covers('a://one', 'a://one-more'))
  assert.ok(!covers('a://one/part', 'a://one'))
})
