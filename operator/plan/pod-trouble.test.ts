/** The reason for a container that the kubelet, or its own process, ended. The golden cases `state-…` have the others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { podTrouble } from './pod-trouble.ts'

const START = Date.UTC(2026, 0, 1)

function reasonOf(exitCode: number, livedSeconds: number, restartCount: number): string | undefined {
  const [startedAt, finishedAt] = [START, START + livedSeconds * 1_000].map(at => new Date(at).toISOString())
  const status = { name: 'server', image: 'a:1', imageID: '', ready: false, restartCount }
  const terminated = { exitCode, startedAt, finishedAt }
  const pod = { status: { containerStatuses: [{ ...status, lastState: { terminated } }] } }
  return podTrouble(pod as unknown as Kube<V1Pod>, 30)?.reason
}

test('a server that is stopped after the start timeout is reported as too slow, even the first time', () => {
  assert.deepEqual(
    [0, 137, 143].map(code => reasonOf(code, 31, 1)),
    Array(3).fill('StartTimeout'),
  )
})

test('a server that exits by itself is not reported as too slow', () => {
  assert.deepEqual(
    [reasonOf(0, 5, 2), reasonOf(0, 600, 2), reasonOf(1, 31, 2)],
    Array(3).fill('CrashLooping'),
  )
})
