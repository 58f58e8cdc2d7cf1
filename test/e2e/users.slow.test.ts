/** A pod for each user of a stdio server in a real cluster: what starts and ends it, who reaches it, and that no secret of one user is found at another. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { V1Pod } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { skipCluster } from '../cluster/available.ts'
import { clusterConfig } from '../cluster/config.ts'
import { MCP_HEADERS, requestBody } from '../support/mcp.ts'
import { until } from '../support/until.ts'
import { tokenOf } from '../users/as-user.ts'
import { killLeader, podProcesses } from './support/breaking.ts'
import { type Caller, callerOf } from './support/caller.ts'
import { fixture, gateway, secret, server } from './support/manifests.ts'
import type { Namespace } from './support/namespace.ts'
import { type Portolan, SYSTEM, startPortolan } from './support/portolan.ts'
import { canariesIn, canaryOf, environOf, idOf, isOfUser, tokenIn, userOf } from './support/users.ts'

const START_LIMIT_MS = 290_000
const skip = clusterConfig().context ? 'this test breaks the cluster, so it needs its own' : skipCluster()
const options = { skip, timeout: 240_000 }
/** How many users come at once; the variable allows more in a run by hand. */
const MANY = Number(process.env.PORTOLAN_TEST_USERS ?? 5)
const CROWD = Array.from({ length: MANY }, (_, at) => `user-${at}`)
const NAMES = ['ada', 'ben', 'cyd', 'dan', ...CROWD]
const FOR = 'portolan.dev/for'
const AUTH = { tokens: { secretName: 'callers' } }
const PER_USER = { auth: { perUser: { secrets: { selector: { matchLabels: { [FOR]: 'kit' } } } } } }

let portolan: Portolan
let space: Namespace
let callers: Map<string, Caller>

before(
  async () => {
    if (skip) return
    portolan = await startPortolan({ values: { operator: { replicas: 2 } } })
    space = await portolan.namespace('users')
    await space.apply(
      secret('callers', Object.fromEntries(NAMES.map(name => [name, tokenOf(name)]))),
      ...['ada', 'ben', 'cyd', ...CROWD].map(name => secretOf(name, canaryOf(name))),
      server('kit', { ...fixture(), sessions: 'perUser', users: { max: MANY + 3 }, ...PER_USER }),
      server('few', { ...fixture(), sessions: 'perUser', users: { max: 1 } }),
      server('brief', { ...fixture(), sessions: 'perUser', users: { idleAfter: '2s' } }),
      gateway('tools', { router: { replicas: 2 }, auth: AUTH }),
      gateway('others', { router: { replicas: 1 }, auth: AUTH }),
    )
    await space.untilReady('kit', 'few', 'brief')
    await space.untilServing('tools', { ready: 3 })
    await space.untilServing('others', { ready: 3 })
    const all = NAMES.map(async name => {
      return [name, await callerOf(portolan.cluster, space.name, 'tools', tokenOf(name))] as const
    })
    callers = new Map(await Promise.all(all))
  },
  { timeout: START_LIMIT_MS },
)
after(async () => {
  for (const caller of callers?.values() ?? []) caller.stop()
  await portolan?.stop()
})

test(
  `${MANY} users who come at once have a pod each, with their own Secret and nobody else's`,
  options,
  async t => {
    const times = await Promise.all(
      CROWD.map(async name => {
        const began = performance.now()
        const environment = await environmentOf(name)
        assert.equal(environment.CANARY, canaryOf(name))
        assert.deepEqual(canariesIn(JSON.stringify(environment)), [canaryOf(name)])
        return performance.now() - began
      }),
    )
    const sorted = times.sort((a, b) => a - b).map(Math.round)
    t.diagnostic(`first calls at once: p50 ${sorted[Math.floor(MANY / 2)]} ms, the last ${sorted.at(-1)} ms`)
    const pods = await podsOf('kit')
    assert.equal(new Set(pods.map(userOf)).size, MANY)
  },
)

test(
  'the secret of one user is found in no log, metric, object or environment of another',
  options,
  async t => {
    const began = performance.now()
    await environmentOf('ada')
    t.diagnostic(`first call of one user: ${Math.round(performance.now() - began)} ms`)
    await environmentOf('ben')
    await assert.rejects(call('ada', 'kit:die', { code: 3, last: 'gone' }))
    const pids = new Map<string, number[]>()
    for (const pod of await podsOf('kit')) pids.set(userOf(pod), podProcesses(portolan.cluster.name, pod))
    for (const name of NAMES.slice(0, 2)) {
      const own = pids.get(idOf(name)) ?? []
      assert.ok(own.some(pid => environOf(pid).includes(canaryOf(name))))
      for (const pid of own)
        assert.deepEqual(
          canariesIn(environOf(pid)).filter(found => found !== canaryOf(name)),
          [],
        )
    }
    for (const pod of await allPods()) {
      const { name, namespace = '' } = pod.metadata
      const log = await portolan.kubectl(
        'logs',
        name,
        '--namespace',
        namespace,
        '--all-containers',
        '--tail=-1',
      )
      assert.deepEqual(canariesIn(log), [], `log of ${name}`)
      if (!isOfUser(pod))
        for (const pid of podProcesses(portolan.cluster.name, pod))
          assert.deepEqual(canariesIn(environOf(pid)), [], `environment in ${name}`)
    }
    const objects = await portolan.kubectl(
      ...['get', 'mcpservers,mcpgateways,deployments,pods,services,configmaps,events,networkpolicies'],
      ...['--namespace', space.name, '--output', 'json'],
    )
    assert.deepEqual(canariesIn(objects), [])
    const admin = await portolan.cluster.forward({
      namespace: space.name,
      name: 'tools-gateway-admin',
      port: 8081,
    })
    t.after(admin.stop)
    for (const page of ['metrics', 'status'])
      assert.deepEqual(canariesIn(await (await fetch(`http://127.0.0.1:${admin.port}/${page}`)).text()), [])
    for (const pod of await podsOf('kit')) assert.ok(!/ada|ben/.test(JSON.stringify(pod.metadata.labels)))
  },
)

test('a pod answers only callers that have its own token and name its revision', options, async t => {
  await Promise.all([environmentOf('ada'), environmentOf('ben')])
  const { stop, port } = await portolan.cluster.forward({
    namespace: space.name,
    name: `mcp-kit-u-${idOf('ben')}`,
    port: 80,
  })
  t.after(stop)
  const [own, another] = await Promise.all([
    tokenIn(portolan, space.name, `mcp-kit-u-${idOf('ben')}`),
    tokenIn(portolan, space.name, `mcp-kit-u-${idOf('ada')}`),
  ])
  const revision = await revisionOf('ben')
  const statusWith = async (token: string, headers: Record<string, string>) => {
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      headers: { ...MCP_HEADERS, ...headers, authorization: `Bearer ${token}` },
      body: requestBody('tools/call', { name: 'environment', arguments: {} }),
    })
    return { status: response.status, text: await response.text() }
  }
  for (const token of [another, await tokenIn(portolan, space.name, 'mcp-kit'), tokenOf('ben')])
    assert.equal((await statusWith(token, { 'portolan-instance': revision })).status, 401)
  const other = await statusWith(own, { 'portolan-instance': '0'.repeat(16) })
  assert.equal(other.status, 503)
  assert.deepEqual(canariesIn(other.text), [])
})

test(
  'if the leading operator is killed, pods of users stay, and another operator starts those of new users',
  options,
  async () => {
    const { uid } = await podOf('kit', 'ada')
    await killLeader(portolan)
    assert.equal((await environmentOf('cyd')).CANARY, canaryOf('cyd'))
    assert.equal((await environmentOf('ada')).CANARY, canaryOf('ada'))
    assert.equal((await podOf('kit', 'ada')).uid, uid)
  },
)

test(
  'a changed Secret is in the next pod, a deleted one ends the pod, and users without one get an error',
  options,
  async () => {
    await space.apply(secretOf('cyd', 'canary-renewed'))
    await until(
      'the new Secret is used',
      async () => (await environmentOf('cyd')).CANARY === 'canary-renewed',
    )
    await space.delete(secretOf('cyd', ''))
    await until('the error says that there is none', () =>
      environmentOf('cyd').then(
        () => false,
        (error: Error) => /there are none of token#cyd/.test(error.message),
      ),
    )
    await until('its pod is gone', async () =>
      (await podsOf('kit')).every(pod => userOf(pod) !== idOf('cyd')),
    )
    await assert.rejects(environmentOf('dan'), /there are none of token#dan/)
  },
)

test(
  'one user more than users.max allows is refused, and admitted once there is room for another',
  options,
  async t => {
    const pid = await call('ada', 'few:pid')
    const began = performance.now()
    // The router of this gateway has no user of the server, and learns from the operator that there is no room.
    const other = await callerOf(portolan.cluster, space.name, 'others', tokenOf('ben'))
    t.after(other.stop)
    await assert.rejects(other.call('few:pid', {}), /1 users have one, the maximum/)
    t.diagnostic(`refused after ${Math.round(performance.now() - began)} ms`)
    assert.equal(await call('ada', 'few:pid'), pid)
    await space.apply(server('few', { ...fixture(), sessions: 'perUser', users: { max: 2 } }))
    await until('there is room', async () => (await call('ben', 'few:pid')) !== '')
    const { status } = (await space.server('few')) ?? {}
    assert.deepEqual([status?.users?.wanted, status?.users?.ready], [2, 2])
  },
)

test('a pod unused for users.idleAfter ends, and the next call starts a new one', options, async () => {
  assert.equal(await call('ada', 'brief:echo', { text: 'first' }), 'first')
  const { uid } = await podOf('brief', 'ada')
  await until(
    'its objects are gone',
    async () => !(await space.made()).some(name => /mcp-brief-u-/.test(name)),
  )
  assert.equal(await call('ada', 'brief:echo', { text: 'again' }), 'again')
  assert.notEqual((await podOf('brief', 'ada')).uid, uid)
})

test('users who come one after the other each get an answer to their first call', options, async t => {
  const times: number[] = []
  for (const name of CROWD) {
    const began = performance.now()
    assert.equal(await call(name, 'brief:echo', { text: name }), name)
    times.push(Math.round(performance.now() - began))
  }
  const p50 = times.sort((a, b) => a - b)[Math.floor(MANY / 2)]
  t.diagnostic(`p50 ${p50} ms, the longest ${times.at(-1)} ms`)
})

test('if no node has room for the pod, the error says so; it starts once there is', options, async t => {
  t.after(() => portolan.kubectl('uncordon', 'node1'))
  await space.apply(
    server('few', { ...fixture(), sessions: 'perUser', users: { max: 3 }, limits: { startTimeout: '8s' } }),
  )
  await space.untilReady('few')
  await portolan.kubectl('cordon', 'node1')
  await assert.rejects(call('dan', 'few:pid'), /did not start in 8 s: no node has room/)
  await portolan.kubectl('uncordon', 'node1')
  await until('it has started', async () => (await call('dan', 'few:pid')) !== '')
})

test('the objects of users are deleted with their server', options, async () => {
  await space.delete(server('few', fixture()), server('brief', fixture()), server('kit', fixture()))
  await until('nothing is left', async () => !(await space.made()).some(name => /mcp-\w+-u-/.test(name)))
})

function secretOf(name: string, canary: string): KubeObject {
  const object = secret(`kit-${name}`, { CANARY: canary })
  const annotations = { 'portolan.dev/subject': `token#${name}` }
  return { ...object, metadata: { ...object.metadata, labels: { [FOR]: 'kit' }, annotations } }
}

function call(name: string, tool: string, args: object = {}): Promise<string> {
  const caller = callers.get(name)
  assert.ok(caller)
  return caller.call(tool, args)
}

async function environmentOf(name: string): Promise<Record<string, string>> {
  return JSON.parse(await call(name, 'kit:environment')) as Record<string, string>
}

/** Pods of the users of a server, except those that are being deleted. */
async function podsOf(name: string): Promise<Kube<V1Pod>[]> {
  return (await space.pods(name)).filter(pod => isOfUser(pod) && !pod.metadata.deletionTimestamp)
}

async function podOf(serverName: string, user: string): Promise<{ uid: string }> {
  const found = (await podsOf(serverName)).find(pod => userOf(pod) === idOf(user))
  assert.ok(found)
  return { uid: found.metadata.uid ?? '' }
}

async function allPods(): Promise<Kube<V1Pod>[]> {
  const lists = [space.name, SYSTEM].map(namespace =>
    portolan.client.list<Kube<V1Pod>>({ apiVersion: 'v1', kind: 'Pod', namespace }),
  )
  return (await Promise.all(lists))
    .flatMap(({ items }) => items)
    .filter(({ status }) => status?.phase === 'Running')
}

/** The revision with which the bridge of a user was started. */
async function revisionOf(user: string): Promise<string> {
  const pod = (await podsOf('kit')).find(one => userOf(one) === idOf(user))
  const { args = [] } = pod?.spec?.containers[0] ?? {}
  return args[args.indexOf('--instance') + 1] ?? ''
}
