/** What is sent as an event: notes that the API server takes, and again what it did not take. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createEventRecorder } from './events.ts'

/** Limit of a note in Kubernetes. */
const MAX_NOTE_BYTES = 1_024
const OBJECT = { apiVersion: 'v1', kind: 'McpServer', metadata: { name: 'a', namespace: 'team', uid: '1' } }

function begin() {
  const notes: string[] = []
  let isRefused = false
  const client = {
    create: async <T extends KubeObject>(event: T): Promise<T> => {
      if (isRefused) throw new Error('the API server answered 500')
      notes.push('note' in event ? String(event.note) : '')
      return event
    },
  }
  const log = createLog({ level: 'silent' })
  const recorder = createEventRecorder({ client, instance: 'pod-1', log, clock: createManualClock() })
  const tell = (message: string) =>
    recorder.conditionsChanged(OBJECT, [
      { type: 'Ready', status: 'False', reason: 'Broken', message, lastTransitionTime: '' },
    ])
  const refuse = (value: boolean) => {
    isRefused = value
  }
  return { tell, notes, refuse }
}

test('a note in any script has at most as many bytes as Kubernetes takes, and ends with a whole character', async () => {
  for (const character of ['a', 'é', '한', '😀']) {
    const { tell, notes } = begin()
    await tell(`a${character.repeat(2_000)}`)
    const [note = ''] = notes
    const bytes = Buffer.byteLength(note)
    assert.ok(bytes <= MAX_NOTE_BYTES && bytes > MAX_NOTE_BYTES - 4, `${character} ${bytes}`)
    assert.ok(note.isWellFormed())
  }
})

test('an event that could not be sent is sent the next time, and one that was sent is not repeated', async () => {
  const { tell, notes, refuse } = begin()
  refuse(true)
  await tell('one')
  refuse(false)
  await Promise.all([tell('two'), tell('three')])
  await tell('four')
  assert.deepEqual(notes, ['two'])
})
