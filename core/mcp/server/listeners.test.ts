/** Listeners get their notifications until they leave or all are closed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANONYMOUS } from '../identity.ts'
import type { Listening } from './handler.ts'
import { Listeners } from './listeners.ts'

const CHANGED = { method: 'notifications/tools/list_changed' }

function listener(client?: string) {
  const stop = new AbortController()
  const heard: string[] = []
  const listening: Listening = {
    route: { kind: 'server', server: 'x' },
    identity: ANONYMOUS,
    client,
    signal: stop.signal,
    tell: ({ method }) => heard.push(method),
  }
  return { listening, heard, leave: () => stop.abort() }
}

test('a listener gets its events until it leaves, and all listeners end together', async () => {
  const listeners = new Listeners()
  const [ann, bob, unnamed] = [listener('ann'), listener('bob'), listener()]
  const served = [ann, bob, unnamed].map(({ listening }) => listeners.listen(listening))
  listeners.tell(CHANGED, client => client === 'ann')
  bob.leave()
  await served[1]
  listeners.tell(CHANGED, () => true)
  listeners.endAll()
  await Promise.all(served)
  listeners.tell(CHANGED, () => true)
  assert.deepEqual([ann.heard.length, bob.heard.length, unnamed.heard.length], [2, 0, 1])
})

test('a listener that has already left, or is beyond the limit, ends at once', async () => {
  const listeners = new Listeners()
  const gone = listener()
  gone.leave()
  await listeners.listen(gone.listening)
  for (let count = 0; count < 4_096; count++) void listeners.listen(listener().listening)
  await listeners.listen(listener().listening)
  listeners.endAll()
})
