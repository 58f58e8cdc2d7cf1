/** The active tools of each session, in the order of use, until it ends or too many others exist. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActivatedSets } from './activated.ts'

test('each client has its own set, which is dropped with the client', () => {
  const sets = createActivatedSets()
  sets.keep('one', ['a', 'b'])
  assert.deepEqual([sets.of('one'), sets.of('two'), sets.of(undefined)], [['a', 'b'], [], []])
  sets.forget('one')
  assert.deepEqual(sets.of('one'), [])
})

test('a call makes an active tool the most recently used; calls of other tools change nothing', () => {
  const sets = createActivatedSets()
  sets.keep('one', ['a', 'b', 'c'])
  sets.touch('one', 'a')
  sets.touch('one', 'z')
  sets.touch('two', 'a')
  sets.touch(undefined, 'a')
  assert.deepEqual([sets.of('one'), sets.of('two')], [['b', 'c', 'a'], []])
})

test('beyond ten thousand sessions the one used least recently is dropped', () => {
  const sets = createActivatedSets()
  for (let client = 0; client < 10_000; client++) sets.keep(`${client}`, ['a'])
  sets.touch('0', 'a')
  sets.keep('new', ['a'])
  assert.deepEqual([sets.of('0'), sets.of('1'), sets.of('2')], [['a'], [], ['a']])
})
