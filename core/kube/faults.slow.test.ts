/** Client and list-watch while a real API server is killed, compacts its history, or stops answering. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, type TestContext, test } from 'node:test'
import type { V1ConfigMap } from '@kubernetes/client-node'
import { skipCluster } from '../../test/cluster/available.ts'
import { type OwnCluster, startCluster } from '../../test/cluster/cluster.ts'
import { clusterConfig } from '../../test/cluster/config.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import { createLog } from '../log.ts'
import type { Access } from './access.ts'
import { KubeClient } from './client.ts'
import { kubeconfigAccess } from './kubeconfig.ts'
import { ListWatch, type ListWatchOptions } from './list-watch.ts'
import type { Kube } from './object.ts'

const skip = clusterConfig().context
  ? 'these tests kill the API server: they need their own cluster'
  : skipCluster()
const START_LIMIT_MS = 280_000
const manager = { fieldManager: 'test' }
const ETCD = 'http://127.0.0.1:2379/v3/kv'

type ConfigMap = Kube<V1ConfigMap>

let cluster: OwnCluster
let access: Access
let direct: KubeClient

before(
  async () => {
    if (skip) return
    cluster = await startCluster()
    access = kubeconfigAccess({ file: cluster.kubeconfig })
    direct = new KubeClient(access)
  },
  { timeout: START_LIMIT_MS },
)
after(async () => {
  await direct?.close()
  await cluster?.stop()
})

test('a watch on a dead connection is opened again and delivers the missed changes', { skip }, async t => {
  const clock = createManualClock()
  const { watch, relay, reasons, changed } = await follow(t, 'silent', { clock })
  await write('silent', 'before')
  await changed('before')
  relay.freeze()
  await write('silent', 'meanwhile')
  clock.advance(100_000)
  await until(() => reasons.includes('Silent'))
  assert.equal(valueIn(watch, 'silent'), 'before')
  await until(() => clock.pending() > 0)
  clock.advance(1_000)
  await changed('meanwhile')
  assert.deepEqual(reasons, ['Silent'])
})

test('a request on a dead connection times out, and the next one uses a new connection', {
  skip,
}, async t => {
  const relay = await startRelay(access)
  const client = new KubeClient(relay.access, { timeoutMs: 1_000 })
  t.after(() => Promise.all([client.close(), relay.close()]))
  const read = () => client.get({ apiVersion: 'v1', kind: 'Namespace', name: 'default' })
  assert.ok(await read())
  relay.freeze()
  // The first requests may still open new connections.
  const readOn = async () => {
    for (let reads = 0; reads < 16; reads++) await read()
  }
  await assert.rejects(readOn(), { status: 0, reason: 'Timeout', retryable: true })
  assert.ok(await read())
})

test('no change is missed when the API server is killed and restarted', { skip }, async t => {
  const { watch, changed } = await follow(t, 'killed')
  await write('killed', 'before')
  await changed('before')
  await cluster.kill('apiserver')
  await assert.rejects(write('killed', 'lost'), { status: 0, reason: 'Unreachable', retryable: true })
  assert.equal(valueIn(watch, 'killed'), 'before')
  await cluster.restart('apiserver')
  await write('killed', 'after')
  await changed('after')
})

test('a watch that gets 410 after a compaction lists again and finds changes and deletions', {
  skip,
}, async t => {
  await write('compacted', 'before')
  await write('compacted-deleted', 'before')
  const { watch, relay, reasons, changed } = await follow(t, 'compacted')
  await watch.synced
  relay.cut()
  await write('compacted', 'meanwhile')
  await direct.delete(refOf('compacted-deleted'))
  await compact()
  await cluster.restart('apiserver')
  await write('other', 'so that the server sees a later revision')
  relay.heal()
  await changed('meanwhile')
  assert.ok(reasons.includes('Expired'), `reasons: ${reasons}`)
  await until(() => watch.get('default/compacted-deleted') === undefined)
})

/** Starts a list-watch of all ConfigMaps through a relay, and collects the reasons of its failures. */
async function follow(t: TestContext, name: string, options: Partial<ListWatchOptions> = {}) {
  const relay = await startRelay(access)
  const client = new KubeClient(relay.access)
  const reasons: string[] = []
  const take = (line: string) => void reasons.push(...[JSON.parse(line).reason ?? []].flat())
  const log = createLog({ level: 'debug', destination: { write: take } })
  const query = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' }
  const watch = new ListWatch<ConfigMap>({ client, query, log, ...options })
  const stopping = new AbortController()
  const running = watch.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await running
    await client.close()
    await relay.close()
  })
  await watch.synced
  return { watch, relay, reasons, changed: (value: string) => until(() => valueIn(watch, name) === value) }
}

/** A TCP proxy in front of the API server whose connections can be frozen or cut. */
async function startRelay({ server: url, ...rest }: Access) {
  const target = Number(new URL(url).port)
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer(socket => {
    if (isCut) return void socket.destroy()
    const inner = connect(target, '127.0.0.1')
    for (const [end, other] of [[socket, inner] as const, [inner, socket] as const]) {
      open.add(end)
      end
        .on('error', () => {})
        .on('close', () => {
          open.delete(end)
          other.destroy()
        })
      end.pipe(other)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    isCut = true
    for (const socket of open) socket.destroy()
  }
  return {
    access: { ...rest, server: `https://127.0.0.1:${(server.address() as AddressInfo).port}` },
    /** Open connections stop transferring data; new ones work. */
    freeze: () => {
      for (const socket of open) socket.unpipe().pause()
    },
    cut,
    heal: () => {
      isCut = false
    },
    close: async () => {
      cut()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** Removes all revisions except the current one from etcd. */
async function compact(): Promise<void> {
  const code = `
    const ask = async (path, body) => (await fetch('${ETCD}/' + path, { method: 'POST', body: JSON.stringify(body) })).json()
    const { header: { revision } } = await ask('range', { key: 'AA==' })
    const { header } = await ask('compaction', { revision, physical: true })
    if (!header) throw new Error('not compacted')`
  await cluster.run([process.execPath, '--input-type=module', '-e', code])
}

function write(name: string, value: string): Promise<ConfigMap> {
  const { apiVersion, kind, ...metadata } = refOf(name)
  return direct.apply<ConfigMap>({ apiVersion, kind, metadata, data: { value } }, manager)
}

function refOf(name: string) {
  return { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name }
}

function valueIn(watch: ListWatch<ConfigMap>, name: string): string | undefined {
  return watch.get(`default/${name}`)?.data?.value
}
