/** Steps run one after the other, each in a turn of the event loop of its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurns } from './turns.ts'

test('steps of several requests run in the order in which they were given, and between two of them others get their turn', async () => {
  const turns = createTurns()
  const ran: string[] = []
  const request = async (name: string) => {
    await turns(() => ran.push(`${name}1`))
    await turns(() => ran.push(`${name}2`))
  }
  const other = async () => {
    for (let turn = 0; turn < 4; turn++) {
      await new Promise(resolve => setImmediate(resolve))
      ran.push('-')
    }
  }
  await Promise.all([request('a'), request('b'), other()])
  assert.deepEqual(
    ran.filter(step => step !== '-'),
    ['a1', 'b1', 'a2', 'b2'],
  )
  assert.ok(!/\w\d,\w\d/.test(ran.slice(0, 7).join()), ran.join())
})

test('a step that throws rejects for its request alone', async () => {
  const turns = createTurns()
  const failing = turns(() => {
    throw new Error('broken')
  })
  const next = turns(() => 'done')
  await assert.rejects(failing, /broken/)
  assert.equal(await next, 'done')
})
