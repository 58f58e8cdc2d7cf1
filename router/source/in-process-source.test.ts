/** The source of a laptop keeps the contract of every source. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testSourceContract } from '../../test/contract/source.ts'
import { snapshotOf } from '../../test/meta/fixture.ts'
import { createInProcessSource } from './in-process-source.ts'
import type { Snapshot } from './source.ts'

testSourceContract('in process', () => {
  const source = createInProcessSource()
  const publish = (snapshot: Snapshot) => {
    source.publish(snapshot)
    return snapshot.generation
  }
  return { source, publish }
})

test('publishing a snapshot that is not newer than the last one throws', () => {
  const source = createInProcessSource()
  source.publish(snapshotOf({}, {}, 3))
  assert.throws(() => source.publish(snapshotOf({}, {}, 3)), /generation 3 is not newer than 3/)
})
