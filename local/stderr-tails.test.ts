/** Whose lines of standard error are kept for the console. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStderrTails } from './stderr-tails.ts'

const silent = { info: () => {}, warn: () => {} }
const MAX_SERVERS = 500

test('servers that were removed leave their places to others', () => {
  const tails = createStderrTails()
  const writes = (server: string) => tails.of(server, silent).info({ stderr: `I am ${server}` }, 'stderr')
  writes('first')
  for (let at = 0; at < MAX_SERVERS - 1; at++) writes(`removed-${at}`)
  writes('first')
  writes('new')
  assert.deepEqual(tails.lines('new'), ['I am new'])
  assert.deepEqual(tails.lines('first'), ['I am first', 'I am first'])
  assert.deepEqual(tails.lines('removed-0'), [])
})
