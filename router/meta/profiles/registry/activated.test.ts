/** What is kept of each session: its tools in the order of use, until it ends or too many others came. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActivatedSets } from './activated.ts'

test('a set belongs to its client, and is gone when the client is', () => {
  const sets = createActivatedSets()
  sets.keep('one', ['a', 'b'])
  assert.deepEqual([sets.of('one'), sets.of('two'), sets.of(undefined)], [['a', 'b'], [], []])
  sets.forget('one')
  assert.deepEqual(sets.of('one'), [])
})

test('using a tool makes it the last to go; one that is not active stays out', () => {
  const sets = createActivatedSets()
  sets.keep('one', ['a', 'b', 'c'])
  sets.touch('one', 'a')
  sets.touch('one', 'z')
  sets.touch('two', 'a')
  sets.touch(undefined, 'a')
  assert.deepEqual([sets.of('one'), sets.of('two')], [['b', 'c', 'a'], []])
})

test('of ten thousand sessions the one that was longest not heard of makes room', () => {
  const sets = createActivatedSets()
  for (let client = 0; client < 10_000; client++) sets.keep(`${client}`, ['a'])
  sets.touch('0', 'a')
  sets.keep('new', ['a'])
  assert.deepEqual([sets.of('0'), sets.of('1'), sets.of('2')], [['a'], [], ['a']])
})
