/** A list-watch stores the objects that it can: one that it cannot store or nests deeply does not stop the others of its kind. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../test/support/until.ts'
import { delay, systemClock } from '../async.ts'
import { createLog } from '../log.ts'
import type { List, WatchEvent } from './client.ts'
import { ListWatch } from './list-watch.ts'
import type { KubeObject } from './object.ts'

type Config = KubeObject & { spec?: unknown }
const query = { apiVersion: 'v1', kind: 'Config' }

test('an object that cannot be stored is logged by name, and the others of a list and a watch are stored', async t => {
  const { watch, logged } = start(
    t,
    [config('broken'), config('b')],
    [config('broken'), config('d')],
    object => {
      if (object.metadata.name === 'broken') throw new RangeError('a bug')
      return object
    },
  )
  await until(() => watch.objects.size === 2)
  assert.deepEqual([...watch.objects.keys()], ['ns/b', 'ns/d'])
  assert.deepEqual(logged(), [
    'broken: an object could not be stored',
    'broken: an object could not be stored',
  ])
})

test('an object nested a hundred thousand levels deep is stored and frozen', async t => {
  const depth = 100_000
  const spec: unknown = JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)
  const { watch, logged } = start(t, [{ ...config('deep'), spec }, config('b')], [])
  await watch.synced
  assert.deepEqual([...watch.objects.keys()], ['ns/deep', 'ns/b'])
  let inner = watch.get('ns/deep')?.spec as { a?: unknown }
  for (let level = 1; level < depth; level++) inner = inner.a as typeof inner
  assert.deepEqual([inner, Object.isFrozen(inner)], [{ a: 1 }, true])
  assert.deepEqual(logged(), [])
})

/** A list-watch that lists some objects and then hears of others. */
function start(
  t: { after(end: () => Promise<void>): void },
  listed: Config[],
  changed: Config[],
  keep: (object: Config) => Config = object => object,
) {
  const lines: string[] = []
  const client = {
    list: async () => ({ items: listed, resourceVersion: '1' }) as List<never>,
    async *watch(_query: unknown, _options: unknown, signal: AbortSignal) {
      for (const object of changed) yield { type: 'ADDED', object } as WatchEvent<never>
      await delay(systemClock, 60_000, signal)
    },
  }
  const log = createLog({ level: 'warn', destination: { write: line => void lines.push(line) } })
  const watch = new ListWatch<Config>({ client, query, log, keep })
  const stopping = new AbortController()
  const running = watch.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await running
  })
  const logged = () =>
    lines
      .map(line => JSON.parse(line))
      .map(({ name, msg }: { name: string; msg: string }) => `${name}: ${msg}`)
  return { watch, logged }
}

function config(name: string): Config {
  return { ...query, metadata: { name, namespace: 'ns', resourceVersion: '1' } }
}
