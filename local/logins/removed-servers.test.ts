/** When a server counts as removed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { REMOVED_AFTER_MS, RemovedServers } from './removed-servers.ts'

function start() {
  const clock = createManualClock()
  const gone: string[] = []
  return { clock, gone, removed: new RemovedServers(clock, name => void gone.push(name)) }
}

test('a server is removed once its manifest has been missing for a while, even if other manifests change', () => {
  const { clock, gone, removed } = start()
  removed.update(['a', 'b'])
  removed.update(['b'])
  clock.advance(REMOVED_AFTER_MS - 1)
  removed.update(['b', 'c'])
  assert.deepEqual(gone, [])
  clock.advance(1)
  assert.deepEqual(gone, ['a'])
  clock.advance(REMOVED_AFTER_MS)
  assert.deepEqual([gone, clock.pending()], [['a'], 0])
})

test('a server that comes back in time is not removed, and a later removal starts a new wait', () => {
  const { clock, gone, removed } = start()
  removed.update(['a'])
  removed.update([])
  clock.advance(REMOVED_AFTER_MS - 1)
  removed.update(['a'])
  clock.advance(REMOVED_AFTER_MS)
  removed.update([])
  clock.advance(REMOVED_AFTER_MS - 1)
  assert.deepEqual(gone, [])
  clock.advance(1)
  assert.deepEqual(gone, ['a'])
})

test('a server that is missing when the gateway ends is not removed', () => {
  const { clock, gone, removed } = start()
  removed.update(['a'])
  removed.update([])
  removed.close()
  clock.advance(REMOVED_AFTER_MS)
  assert.deepEqual(gone, [])
})
