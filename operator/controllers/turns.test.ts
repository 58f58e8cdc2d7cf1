/** Whose turn it is in an upgrade, if a server that waits or has begun its turn has nothing to upgrade any more. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Deployment } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { LABEL } from '../plan/names.ts'
import { Turns } from './turns.ts'

const SERVERS = ['ns/a', 'ns/b', 'ns/c']

test('a server that need not wait any more makes room for the next one of its namespace', () => {
  const { turns, ask, requeued } = start()
  assert.equal(ask('ns/a'), undefined)
  assert.deepEqual(ask('ns/b'), { rolling: ['ns/a'] })
  assert.deepEqual(ask('ns/c'), { rolling: ['ns/a'] })
  turns.ask('ns/a', undefined)
  assert.deepEqual(requeued, ['ns/b'])
  turns.ask('ns/b', undefined)
  assert.deepEqual(requeued, ['ns/b', 'ns/c'])
})

test('a server that gives up its turn frees it for those that wait', () => {
  const { turns, ask, requeued } = start()
  ask('ns/a')
  ask('ns/b')
  turns.ask('ns/a', undefined)
  assert.deepEqual(requeued, ['ns/b'])
  assert.equal(ask('ns/b'), undefined)
  turns.ask('ns/c', undefined)
  assert.deepEqual(requeued, ['ns/b'], 'nothing was freed')
})

test('as many servers are queued as turns are free, and one that does not take its turn lets others go first', () => {
  const servers = ['one/a', 'two/a', 'three/a', 'three/b', 'four/a', 'five/a']
  const { turns, ask, requeued } = start(servers, 0.34)
  for (const server of servers) ask(server)
  turns.ask('one/a', undefined)
  assert.deepEqual(requeued.splice(0), ['three/a'])
  turns.ask('two/a', undefined)
  assert.deepEqual(requeued.splice(0), ['four/a', 'five/a'])
  assert.equal(ask('four/a'), undefined)
  turns.ask('four/a', undefined)
  assert.deepEqual(requeued.splice(0), ['three/b', 'five/a'])
  assert.equal(ask('three/b'), undefined)
  assert.equal(ask('five/a'), undefined)
  turns.ask('five/a', undefined)
  assert.deepEqual(requeued.splice(0), [], 'the namespace has its turn')
  turns.ask('three/b', undefined)
  assert.deepEqual(requeued.splice(0), ['three/a'])
})

function start(servers = SERVERS, share = 1) {
  const objects = new Map(servers.map(key => [key, deployment(key)]))
  const deployments = { objects, get: (key: string) => objects.get(key), onChange: () => () => {} }
  const turns = new Turns(deployments, { share, perNamespace: 1 })
  const requeued: string[] = []
  turns.onFree(key => requeued.push(key))
  return { turns, requeued, ask: (key: string) => turns.ask(key, objects.get(key)) }
}

function deployment(key: string): Kube<V1Deployment> {
  const [namespace = '', name = ''] = key.split('/')
  const labels = { [LABEL.component]: 'server', [LABEL.instance]: name }
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace, name, labels, generation: 1 } }
}
