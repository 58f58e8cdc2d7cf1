/** How many users have their lists read at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { ListRoom } from './list-room.ts'

test('at most four users of a server have their lists read at once, and each server has its own limit', async () => {
  const room = new ListRoom({ clock: createManualClock(), onFull() {} })
  const { signal } = new AbortController()
  const begun: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const read = (server: string) =>
    room.turn(
      server,
      () => {
        begun.push(server)
        return promise
      },
      signal,
    )
  const all = [...Array.from({ length: 6 }, () => read('slow')), read('other')]
  await nextTurn()
  assert.deepEqual(begun.toSorted(), ['other', 'slow', 'slow', 'slow', 'slow'])
  resolve()
  await Promise.all(all)
  assert.equal(begun.length, 7)
})
