/** Whose subscriptions end if there are too many subscribers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { createCaller } from '../caller.ts'
import { ANONYMOUS } from '../identity.ts'
import type { McpHandler } from './handler.ts'
import { Subscriptions } from './subscriptions.ts'

/** `add` makes the caller subscribe in so many new sessions; `ended` has the sessions whose subscriptions were ended. */
function setUp(distinguishesCallers: boolean) {
  const subscriptions = new Subscriptions(
    createManualClock(),
    () => true,
    () => distinguishesCallers,
  )
  const ended: string[] = []
  let sessions = 0
  const add = async (id: string, count: number) => {
    for (let more = 0; more < count; more++) {
      const client = `${id} ${sessions++}`
      const caller = createCaller({ client, identity: { ...ANONYMOUS, id } })
      const handler: McpHandler = {
        describe: () => undefined,
        handle: async () => ({ result: {} }),
        async subscribe(_route, _subscription, { signal }) {
          signal.addEventListener('abort', () => ended.push(client))
          return { result: {} }
        },
      }
      const subscription = { uri: 'note://one', caller, onUpdate: () => {} }
      await subscriptions.subscribe(handler, { kind: 'server', server: 'notes' }, client, subscription)
    }
  }
  return { subscriptions, ended, add }
}

test('a caller has a sixteenth of the subscribers: one session more ends its own oldest', async () => {
  const { subscriptions, ended, add } = setUp(true)
  await add('blue', 1)
  await add('red', 256)
  assert.deepEqual(ended, [])
  await add('red', 2)
  assert.deepEqual(ended, ['red 1', 'red 2'])
  assert.equal(subscriptions.size, 257)
})

test('if there are too many subscribers, the oldest session of the caller itself ends first', async () => {
  const { ended, add } = setUp(true)
  for (let caller = 0; caller < 16; caller++) await add(`caller${caller}`, 255)
  await add('blue', 16)
  await add('blue', 1)
  assert.deepEqual(ended, ['blue 4080'])
  await add('new', 1)
  assert.deepEqual(ended, ['blue 4080', 'caller0 0'])
})

test('callers who are not distinguished share the limit', async () => {
  const { ended, add } = setUp(false)
  await add('', 4_096)
  assert.deepEqual(ended, [])
  await add('', 1)
  assert.deepEqual(ended, [' 0'])
})
