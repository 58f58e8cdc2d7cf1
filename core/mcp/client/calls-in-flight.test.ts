/** Calls in flight are found by their ids, in the order in which they began. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callOf } from '../../../test/support/call.ts'
import { CallsInFlight, type Listed } from './calls-in-flight.ts'

function listed(id: number): Listed {
  return { id, call: callOf({ method: `call ${id}` }), place: -1 }
}

test('calls in flight are found, latest last, in whatever order they end', () => {
  const calls = new CallsInFlight()
  const all = [1, 2, 3, 4, 5].map(listed)
  for (const one of all) calls.add(one)
  const [first, second, , , fifth] = all as [Listed, Listed, Listed, Listed, Listed]
  calls.remove(first)
  calls.remove(fifth)
  assert.deepEqual(
    [...calls.values()].map(({ method }) => method),
    ['call 2', 'call 3', 'call 4'],
  )
  assert.equal(calls.get(2), second.call)
  assert.equal(calls.get(5), undefined)
  calls.add(listed(6))
  calls.remove(second)
  assert.deepEqual([calls.size, [...calls.values()].at(-1)?.method], [3, 'call 6'])
})

test('a call that is removed twice takes no other with it', () => {
  const calls = new CallsInFlight()
  const all = [1, 2, 3].map(listed)
  for (const one of all) calls.add(one)
  calls.remove(all[0] as Listed)
  calls.remove(all[0] as Listed)
  assert.equal(calls.size, 2)
})
