/** The Kubernetes source of a router with a real API server: the contract of all sources, and failures. */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { encodeSlices, MAX_SLICE_BYTES, SLICE_FORMAT } from '../../core/catalog/slices.ts'
import { KubeClient } from '../../core/kube/client.ts'
import { createLog } from '../../core/log.ts'
import { createKubernetesSource, type KubernetesSource } from '../../router/source/kubernetes-source.ts'
import type { Snapshot } from '../../router/source/source.ts'
import { testSourceContract } from '../contract/source.ts'
import { snapshotOf } from '../meta/fixture.ts'
import { skipApiServer } from '../support/api-server.ts'
import { type Api, startApi } from './api.ts'

const skip = skipApiServer()
const START_LIMIT_MS = 120_000
const CHANGES = 40
const P95_LIMIT_MS = 500

let api: Api
before(
  async () => {
    if (!skip) api = await startApi()
  },
  { timeout: START_LIMIT_MS },
)
after(() => api?.close())

let gateways = 0
if (!skip)
  testSourceContract('kubernetes', async t => {
    const gateway = `contract-${++gateways}`
    const { source } = follow(t, gateway)
    const publish = async (snapshot: Snapshot) => {
      const generation = await api.publish(gateway, snapshot)
      await until(source, snapshot => snapshot.generation >= generation)
      return generation
    }
    return { source, publish }
  })

test('changes of catalogs reach the router within 500 ms (p95)', { skip }, async t => {
  const { source } = follow(t, 'quick')
  await api.publish('quick', offering('tool-0', 'quick'))
  await until(source, () => true)
  const times: number[] = []
  for (let change = 1; change <= CHANGES; change++) {
    const tool = `tool-${change}`
    const generation = await api.publish('quick', offering(tool, 'quick'))
    const begun = performance.now()
    const { catalogs } = await until(source, snapshot => snapshot.generation >= generation)
    times.push(performance.now() - begun)
    assert.equal(catalogs.get('quick')?.tools[0]?.definition.name, tool)
  }
  const p95 = times.sort((a, b) => a - b)[Math.floor(CHANGES * 0.95)] ?? 0
  t.diagnostic(
    `p50 ${times[CHANGES / 2]?.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms after the write was answered`,
  )
  assert.ok(p95 < P95_LIMIT_MS, `p95 ${p95} ms`)
})

test('a router waits until its Role allows it to read its slices, then serves the complete catalog', {
  skip,
}, async t => {
  await api.serviceAccount('narrow')
  const access = await api.accessOf(await api.token('narrow'))
  const client = new KubeClient(access)
  t.after(() => client.close())
  await api.role('narrow', [])
  const generation = await api.publish('narrow', offering('read', 'narrow-files'))
  const { source, log } = follow(t, 'narrow', client)
  await log.said('watch interrupted')
  await api.bind('narrow', 'narrow')
  await log.said('slices not read yet')
  assert.deepEqual(source.missing(), ['narrow-files'])
  await api.role('narrow', ['narrow-files-catalog-0'])
  const snapshot = await until(source, () => true)
  assert.equal(snapshot.generation, generation)
  assert.deepEqual([...snapshot.catalogs.keys()], ['narrow-files'])
  assert.deepEqual(source.missing(), [])
  await assert.rejects(
    client.get({ apiVersion: 'v1', kind: 'Secret', namespace: 'default', name: 'other' }),
    {
      status: 403,
    },
  )
})

test('while the slices of a catalog are incomplete, the last good catalog is served', {
  skip,
}, async t => {
  const { source, log } = follow(t, 'half')
  await api.publish('half', offering('old', 'half'))
  const before = await until(source, () => true)
  const large = offering('new', 'half', `${noise(MAX_SLICE_BYTES)}`)
  const catalog = large.catalogs.get('half')
  assert.ok(catalog)
  const [first, second] = encodeSlices(catalog)
  assert.ok(first && second)
  await api.slice('half', first)
  const generation = await api.feed('half', {
    config: large.config,
    slices: { half: { digest: catalog.digest, parts: 2 } },
    secrets: {},
  })
  const kept = await until(source, snapshot => snapshot.generation >= generation)
  assert.equal(kept.catalogs.get('half'), before.catalogs.get('half'))
  assert.deepEqual(source.missing(), ['half'])
  await log.said('slices not read yet')
  await api.slice('half', second)
  const whole = await until(source, ({ catalogs }) => catalogs.get('half')?.digest === catalog.digest)
  assert.equal(whole.generation, generation)
  assert.deepEqual(source.missing(), [])
})

test('slices of a newer format are ignored in favour of the last good catalog; those of the previous format are read', {
  skip,
}, async t => {
  const { source } = follow(t, 'format')
  await api.publish('format', offering('old', 'format'))
  const before = await until(source, () => true)
  const write = async (tool: string, format: number) => {
    const snapshot = offering(tool, 'format')
    const catalog = snapshot.catalogs.get('format')
    assert.ok(catalog)
    for (const { header, payload } of encodeSlices(catalog))
      await api.slice('format', { header: { ...header, format }, payload })
    const slices = { format: { digest: catalog.digest, parts: 1 } }
    const generation = await api.feed('format', { config: snapshot.config, slices, secrets: {} })
    return until(source, snapshot => snapshot.generation >= generation)
  }
  assert.equal((await write('later', SLICE_FORMAT + 1)).catalogs.get('format'), before.catalogs.get('format'))
  const earlier = await write('earlier', SLICE_FORMAT - 1)
  assert.equal(earlier.catalogs.get('format')?.tools[0]?.definition.name, 'earlier')
})

test('after an unreadable feed, or its deletion, the last good one is still served', { skip }, async t => {
  const { source, log } = follow(t, 'broken')
  await api.publish('broken', offering('read', 'broken'))
  const before = await until(source, () => true)
  const metadata = { name: 'broken-router', namespace: 'default' }
  const ref = { apiVersion: 'v1', kind: 'ConfigMap' }
  await api.client.apply({ ...ref, metadata, data: { format: '9' } } as never, {
    fieldManager: 'test',
    force: true,
  })
  await log.said('the feed cannot be read; the last good one stays')
  await api.client.delete({ ...ref, ...metadata })
  await log.said('the feed was deleted; its last content stays in use')
  assert.equal(await until(source, () => true), before)
})

test('Secrets are read by name, and again when their version changes, and are never logged', {
  skip,
}, async t => {
  const { source, log } = follow(t, 'secret')
  const snapshot = offering('read', 'secret')
  const first = await api.secret('source-secret', { token: 'first-value' })
  await api.publish('secret', snapshot, { 'source-secret': first })
  await until(source, () => true)
  assert.deepEqual(source.secret('source-secret'), { token: 'first-value' })
  const second = await api.secret('source-secret', { token: 'second-value' })
  const generation = await api.publish('secret', snapshot, { 'source-secret': second, 'not-there': '1' })
  await until(source, ({ generation: seen }) => seen >= generation)
  assert.deepEqual(source.secret('source-secret'), { token: 'second-value' })
  assert.equal(source.secret('not-there'), undefined)
  assert.deepEqual(source.missing(), ['secret/not-there'])
  assert.doesNotMatch(log.text(), /-value/)
})

test('while the API server is down, the last snapshot is served; afterwards changes arrive again', {
  skip,
}, async t => {
  const { source, log } = follow(t, 'away')
  await api.publish('away', offering('before', 'away'))
  const before = await until(source, () => true)
  await api.server.kill()
  await log.said('watch interrupted')
  assert.equal(await until(source, () => true), before)
  await api.server.restart()
  const generation = await api.publish('away', offering('after', 'away'))
  const { catalogs } = await until(source, snapshot => snapshot.generation >= generation)
  assert.equal(catalogs.get('away')?.tools[0]?.definition.name, 'after')
})

type Lines = { text(): string; said(message: string): Promise<void> }

/** Starts a source that runs until the test ends, with a log. */
function follow(
  t: TestContext,
  gateway: string,
  client = api.client,
): { source: KubernetesSource; log: Lines } {
  const { lines, log } = listen()
  const source = createKubernetesSource({ client, namespace: 'default', gateway, log })
  const life = new AbortController()
  const running = source.run(life.signal)
  t.after(() => {
    life.abort()
    return running
  })
  return { source, log: lines }
}

/** A log whose lines can be waited for. */
function listen() {
  let text = ''
  const waiting = new Set<() => void>()
  const write = (line: string) => {
    text += line
    for (const wake of [...waiting]) wake()
  }
  const said = (message: string) =>
    new Promise<void>(resolve => {
      const look = () => {
        if (!text.includes(`"msg":"${message}"`)) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  const lines: Lines = { text: () => text, said }
  return { lines, log: createLog({ level: 'debug', destination: { write } }) }
}

/** Waits for the first snapshot that satisfies `wanted`. */
async function until(source: KubernetesSource, wanted: (snapshot: Snapshot) => boolean): Promise<Snapshot> {
  const stop = new AbortController()
  for await (const snapshot of source.watch(stop.signal)) if (wanted(snapshot)) return snapshot
  throw new Error('the source ended')
}

/** A server with one tool. */
function offering(tool: string, server: string, description?: string): Snapshot {
  const tools = [{ name: tool, description, inputSchema: { type: 'object' } }]
  return snapshotOf({ [server]: { offers: { tools } } }, {}, 0)
}

/** Text that hardly compresses. */
function noise(bytes: number): string {
  let seed = 1
  const next = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return String.fromCharCode(33 + (seed % 90))
  }
  return Array.from({ length: bytes * 1.3 }, next).join('')
}
