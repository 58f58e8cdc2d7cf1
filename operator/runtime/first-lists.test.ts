/** The operator starts without a namespace in which the API server refuses all lists, and changes nothing there. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { ApiError } from '../../core/kube/api-error.ts'
import type { KubeClient, Query } from '../../core/kube/client.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import { writeBindingSubjects } from './binding-subjects.ts'
import { createCaches } from './caches.ts'
import { inListedNamespaces } from './first-lists.ts'
import { Queue } from './queue.ts'

const FORBIDDEN = new ApiError(403, 'Forbidden', 'The API server answered 403: forbidden')
const AWAY = new ApiError(0, 'Unreachable', 'The API server cannot be reached')

/** Caches of the namespaces `here` and `gone`, whose lists fail as `failing` says. */
function start(t: TestContext, failing: { error: (query: Query) => ApiError | undefined }) {
  const clock = createManualClock()
  const lines: string[] = []
  const server: KubeObject = { apiVersion: 'v1', kind: 'McpServer', metadata: { name: 'a', uid: 'u' } }
  const client = {
    async list(query: Query) {
      const error = failing.error(query)
      if (error) throw error
      const { namespace } = query
      const items =
        query.kind === 'McpServer' ? [{ ...server, metadata: { ...server.metadata, namespace } }] : []
      return { items, resourceVersion: '7' } as never
    },
    watch: quiet as KubeClient['watch'],
  }
  const log = createLog({ level: 'warn', destination: { write: line => void lines.push(line) } })
  const caches = createCaches({ client, namespaces: ['here', 'gone'], log, clock, resyncMs: 600_000 })
  const stop = new AbortController()
  const running = caches.run(stop.signal)
  const state = { isSynced: false }
  const synced = caches.synced(stop.signal).then(
    () => {
      state.isSynced = true
    },
    () => {},
  )
  t.after(async () => {
    stop.abort()
    await Promise.all([running, synced])
  })
  /** Lets every list that waits fail or succeed again. */
  const advance = async (ms: number) => {
    clock.advance(ms)
    await new Promise(setImmediate)
  }
  return { caches, state, lines, advance }
}

/** A watch without events. */
// biome-ignore lint/correctness/useYield: there are no events
async function* quiet(_query: Query, _options: object, signal?: AbortSignal): AsyncGenerator<never> {
  if (signal && !signal.aborted) await once(signal, 'abort')
  signal?.throwIfAborted()
}

const isGone = ({ namespace }: Query) => (namespace === 'gone' ? FORBIDDEN : undefined)

test('a namespace whose lists are refused for 30 s holds up no other, and is listed once that is allowed', async t => {
  const failing: { error: (query: Query) => ApiError | undefined } = { error: isGone }
  const { caches, state, lines, advance } = start(t, failing)
  await advance(0)
  await advance(29_000)
  assert.deepEqual([state.isSynced, caches.unsynced.length > 0], [false, true])
  for (let waited = 0; waited < 3; waited++) await advance(5_000)
  assert.deepEqual([state.isSynced, caches.unsynced], [true, []])
  assert.deepEqual([caches.isListed('here'), caches.isListed('gone')], [true, false])
  assert.deepEqual([...caches.servers.objects.keys()], ['here/a'])
  const [warning] = lines.map(line => JSON.parse(line)).filter(({ namespaces }) => namespaces)
  assert.deepEqual(warning.namespaces, ['gone'])
  assert.match(warning.msg, /take them out of watchNamespaces/)
  failing.error = () => undefined
  await advance(10_000)
  await until(() => caches.isListed('gone'))
  assert.deepEqual([...caches.servers.objects.keys()].sort(), ['gone/a', 'here/a'])
})

test('all are waited for while the API server cannot be reached, refuses one kind everywhere, or answers nothing', async t => {
  const outages: ((query: Query) => ApiError | undefined)[] = [
    ({ namespace }) => (namespace === 'gone' ? AWAY : undefined),
    ({ kind }) => (kind === 'Secret' ? FORBIDDEN : undefined),
    query => (query.kind === 'Pod' ? AWAY : isGone(query)),
  ]
  for (const error of outages) {
    const { state, advance } = start(t, { error })
    for (let waited = 0; waited < 30; waited++) await advance(5_000)
    assert.equal(state.isSynced, false)
  }
})

test('nothing is reconciled in a namespace of which one kind is not listed', async t => {
  const onlySecrets = (query: Query) => (query.kind === 'Secret' ? isGone(query) : undefined)
  const failing = { error: onlySecrets as (query: Query) => ApiError | undefined }
  const { caches, state, advance } = start(t, failing)
  for (let waited = 0; waited < 9; waited++) await advance(5_000)
  assert.equal(state.isSynced, true)
  assert.ok(caches.servers.get('gone/a'))
  const seen: string[] = []
  const controller = inListedNamespaces(
    {
      name: 'server',
      queue: new Queue({ clock: createManualClock() }),
      workers: 1,
      reconcile: async key => void seen.push(key),
    },
    caches,
  )
  const { signal } = new AbortController()
  assert.deepEqual(await controller.reconcile('gone/a', signal), { afterMs: 5_000 })
  await controller.reconcile('here/a', signal)
  await controller.reconcile('binding', signal)
  assert.deepEqual(seen, ['here/a', 'binding'])
  failing.error = () => undefined
  await advance(10_000)
  await until(() => caches.isListed('gone'))
  await controller.reconcile('gone/a', signal)
  assert.deepEqual(seen, ['here/a', 'binding', 'gone/a'])
})

test('a binding keeps its subjects in namespaces whose gateways are unknown', async () => {
  const subject = (namespace: string) => ({ kind: 'ServiceAccount', namespace, name: 'gw-gateway' })
  const applied: unknown[] = []
  const binding = { metadata: { name: 'reviews' }, subjects: [subject('gone'), subject('here')] }
  const client = {
    get: async () => binding as never,
    apply: async (object: KubeObject) => {
      applied.push((object as { subjects?: unknown }).subjects)
      return object as never
    },
  } as unknown as Pick<KubeClient, 'get' | 'apply'>
  const options = {
    client,
    log: createLog({ level: 'silent' }),
    metrics: { wrote() {} } as never,
    fieldManager: 'test',
    keeps: (namespace?: string) => namespace === 'gone',
  }
  const { signal } = new AbortController()
  await writeBindingSubjects(options, 'reviews', [subject('here')], signal)
  assert.deepEqual(applied, [])
  await writeBindingSubjects(options, 'reviews', [], signal)
  await writeBindingSubjects({ ...options, keeps: () => false }, 'reviews', [], signal)
  assert.deepEqual(applied, [[subject('gone')], []])
})
