/** What pods report of their packages is kept, and not overwritten: a real API server, pods that say what a test wants. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { V1ConfigMap, V1Deployment, V1PersistentVolumeClaim } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { integrityChanged, type PackageRecord, parseKnown } from '../../core/packages/integrity.ts'
import { APPROVE_ANNOTATION } from '../../crds/annotations.ts'
import { INSTALLED_LABEL, labelsOf } from '../../operator/plan/names.ts'
import { PACKAGES_KEY } from '../../operator/plan/package-records.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { runPortolan } from '../support/portolan.ts'
import { until } from '../support/until.ts'
import { limit, unlimit } from './quota.ts'
import { conditionOf, createWorld, reasonOf } from './world.ts'

const skip = skipApiServer()
const FIRST: PackageRecord = { kind: 'npm', package: 'web', version: '1.0.0', integrity: 'sha512-first' }
const OTHER = { ...FIRST, integrity: 'sha512-other' }
const NEXT = { ...FIRST, version: '1.0.1', integrity: 'sha512-next' }

const api = apiServerOfTests(skip)

async function packageWorld(t: TestContext, namespace: string) {
  const world = await createWorld(t, api().access, namespace)
  const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'web-packages' }
  const read = async () => {
    const found = await world.client.get<Kube<V1ConfigMap>>(ref)
    return found && parseKnown(found.data?.[PACKAGES_KEY] ?? '')
  }
  return {
    ...world,
    read,
    web: (annotations = {}) =>
      world.server('web', { npm: { package: 'web', version: '1.0.0' } }, { annotations }),
    /** A pod of the server whose installer ended with this message. */
    async pod(name: string, message: string, exitCode = 0, volumes: object[] = []) {
      const metadata = { name, namespace, labels: labelsOf('server', 'web') }
      const spec = { containers: [{ name: 'server', image: 'a' }], volumes }
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec } as KubeObject
      await world.apply(pod)
      const terminated = { exitCode, message, finishedAt: '2026-01-01T00:00:00Z', startedAt: null }
      const installer = { name: 'install', image: 'a', imageID: '', ready: exitCode === 0, restartCount: 0 }
      const initContainerStatuses = [{ ...installer, state: { terminated } }]
      const status = { initContainerStatuses }
      await world.client.applyStatus({ ...pod, spec: undefined, status } as KubeObject, {
        fieldManager: 'test',
        force: true,
      })
    },
    async until(expected: unknown) {
      await until(`all is ${JSON.stringify(expected)}`, async () => {
        assert.deepEqual(await read(), expected)
        return true
      })
    },
    approve: (...args: string[]) =>
      runPortolan(['approve', 'web', '-n', namespace, ...args], { KUBECONFIG: api().kubeconfig }),
    status: (check: Parameters<typeof world.until>[1]) => world.until('web', check),
    delete: (kind: 'ConfigMap', name: string) => world.delete(kind, name),
  }
}

test('the first report of a version is kept over a restart of the operator; only an approved one replaces it', {
  skip,
  timeout: 120_000,
}, async t => {
  const world = await packageWorld(t, 'packages')
  await world.web()
  await world.pod('web-a', JSON.stringify(FIRST))
  await world.until({ records: [FIRST] })
  await world.pod('web-b', JSON.stringify(NEXT))
  await world.until({ records: [FIRST, NEXT] })

  await world.operator().stop()
  await world.start()
  await world.pod('web-c', JSON.stringify(OTHER))
  const reported = await world.status(({ status }) =>
    /the pod web-c runs other content/.test(conditionOf(status, 'Accepted')?.message ?? ''),
  )
  assert.equal(reasonOf(reported, 'Accepted'), 'Accepted')
  await world.quiet()
  assert.deepEqual(await world.read(), { records: [FIRST, NEXT] })

  await world.web({ [APPROVE_ANNOTATION]: OTHER.integrity })
  await world.until({ approved: OTHER.integrity, records: [NEXT, OTHER] })
  await world.web()
  await world.until({ records: [NEXT, OTHER] })
  const versions = await world.quiet()
  assert.deepEqual(await world.quiet(), versions)
})

test('a server whose records the cluster does not allow is changed nevertheless, and says so', {
  skip,
  timeout: 120_000,
}, async t => {
  const world = await packageWorld(t, 'not-recorded')
  await limit(api(), 'not-recorded', 'configmaps', 0)
  await world.web()
  await until(() => world.get('apps/v1', 'Deployment', 'mcp-web'))
  await world.pod('web-a', JSON.stringify(FIRST))
  const reported = await world.status(({ status }) =>
    /quota/.test(conditionOf(status, 'Accepted')?.message ?? ''),
  )
  assert.match(conditionOf(reported.status, 'Accepted')?.message ?? '', /web-packages.* forbidden/)
  assert.equal(reasonOf(reported, 'Accepted'), 'Accepted')
  await world.server('web', { npm: { package: 'web', version: '1.0.1' } })
  await until(async () =>
    JSON.stringify(await world.get('apps/v1', 'Deployment', 'mcp-web')).includes('1.0.1'),
  )
  await unlimit(api(), 'not-recorded')
  world.clock.advance(60_000)
  await world.until({ records: [FIRST] })
  await world.status(({ status }) => conditionOf(status, 'Accepted')?.message === 'It is valid.')
})

test('a pod that has installed loses its way to the registry, also while the server is refused or denied', {
  skip,
  timeout: 120_000,
}, async t => {
  const world = await packageWorld(t, 'installed')
  const untilInstalled = (pod: string) =>
    until(`${pod} is labelled`, async () =>
      Boolean((await world.get('v1', 'Pod', pod))?.metadata.labels?.[INSTALLED_LABEL]),
    )
  await limit(api(), 'installed', 'services', 0)
  await world.web()
  await world.status(server => reasonOf(server, 'Ready') === 'PodRejected')
  await world.pod('web-a', JSON.stringify(FIRST))
  await untilInstalled('web-a')
  await unlimit(api(), 'installed')
  world.clock.advance(60_000)
  await until(() => world.get('apps/v1', 'Deployment', 'mcp-web'))

  const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'missing', key: 'token' } } }]
  await world.server('web', { image: { name: 'web:1', command: ['/web'] }, env })
  await world.status(server => reasonOf(server, 'Accepted') === 'SecretNotFound')
  await world.pod('web-b', JSON.stringify(FIRST))
  await untilInstalled('web-b')
})

test('portolan approve shows the content that a pod refused, and approves it', {
  skip,
  timeout: 120_000,
}, async t => {
  const world = await packageWorld(t, 'refused')
  await world.operator().stop()
  const { metadata, apiVersion, kind } = await world.web()
  const { message } = integrityChanged(OTHER, {
    found: OTHER.integrity,
    known: FIRST.integrity,
    where: 'for this server',
    remedy: 'x',
  })
  const ready = { type: 'Ready', status: 'False', reason: 'IntegrityChanged', message }
  const conditions = [{ ...ready, lastTransitionTime: '2026-01-01T00:00:00Z' }]
  const { name, namespace } = metadata
  const status = { conditions }
  const reported = { apiVersion, kind, metadata: { name, namespace }, status } as KubeObject
  await world.client.applyStatus(reported, { fieldManager: 'test', force: true })
  const shown = await world.approve('--diff')
  assert.match(
    shown.stdout,
    /^web 1\.0\.0 of npm has other content .*\n {2}integrity: \[-sha512-first-\]\{\+sha512-other\+\}/,
  )
  assert.match(shown.stdout, /portolan approve web --digest "sha512-other"/)
  const wrong = await world.approve('--digest', 'sha512-wrong')
  assert.match(wrong.stderr, /the package of web changed again/)
  const approvedNow = async () => {
    const server = await world.get<KubeObject>(apiVersion, kind, 'web')
    return server?.metadata.annotations?.[APPROVE_ANNOTATION]
  }
  assert.equal(await approvedNow(), undefined)
  const right = await world.approve('--digest', OTHER.integrity)
  assert.match(right.stdout, /^web 1\.0\.0 of npm: approved sha512-other\. The operator takes it/)
  assert.equal(await approvedNow(), OTHER.integrity)
})

test('pods mount the records read-only and start without them; recreated records contain what still runs', {
  skip,
  timeout: 120_000,
}, async t => {
  const world = await packageWorld(t, 'mounted')
  await world.web()
  await world.status(server => reasonOf(server, 'Ready') === 'Starting')
  const deployment = await world.get<Kube<V1Deployment>>('apps/v1', 'Deployment', 'mcp-web')
  const { volumes = [], initContainers = [] } = deployment?.spec?.template.spec ?? {}
  const volume = volumes.find(({ configMap }) => configMap?.name === 'web-packages')
  assert.equal(volume?.configMap?.optional, true)
  const mounts = initContainers.flatMap(({ volumeMounts = [] }) => volumeMounts)
  assert.equal(mounts.find(({ name }) => name === volume?.name)?.readOnly, true)
  assert.equal(await world.read(), undefined)

  await world.pod('web-a', JSON.stringify(FIRST))
  await world.until({ records: [FIRST] })
  await world.delete('ConfigMap', 'web-packages')
  await world.until({ records: [FIRST] })
})

test('damaged records are not overwritten, and a ConfigMap of another owner is never changed', {
  skip,
  timeout: 120_000,
}, async t => {
  const world = await packageWorld(t, 'damaged')
  const data = { [PACKAGES_KEY]: 'mine' }
  await world.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'web-packages' },
    data,
  } as KubeObject)
  await world.web()
  await world.pod('web-a', JSON.stringify(FIRST))
  await world.status(server => reasonOf(server, 'Accepted') === 'NameTaken')
  await assert.rejects(world.read(), /not JSON/)
  await world.delete('ConfigMap', 'web-packages')
  await world.pod('web-b', JSON.stringify(FIRST))
  await world.until({ records: [FIRST] })
  await world.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'web-packages' },
    data,
  } as KubeObject)
  await world.pod('web-c', JSON.stringify(NEXT))
  await world.quiet()
  await assert.rejects(world.read(), /not JSON/)
})

test('each installation has one claim, which stays while pods use it and is deleted when nothing needs it', {
  skip,
  timeout: 120_000,
}, async t => {
  const world = await packageWorld(t, 'kept')
  const claims = async () => {
    const query = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: world.namespace }
    const { items } = await world.client.list<Kube<V1PersistentVolumeClaim>>(query)
    return items.filter(({ metadata }) => !metadata.deletionTimestamp)
  }
  const untilClaims = (count: number) =>
    until(`${count} claims`, async () => {
      const found = await claims()
      return found.length === count && found
    })
  const package_ = (version: string) => ({ npm: { package: 'web', version }, scaling: { min: 0 } })
  await world.server('web', { ...package_('1.0.0'), storage: { size: '1Gi', storageClassName: 'fast' } })
  const [first] = await untilClaims(1)
  assert.deepEqual(
    [first?.spec?.accessModes, first?.spec?.storageClassName, first?.spec?.resources?.requests],
    [['ReadWriteOnce'], 'fast', { storage: '1Gi' }],
  )
  const name = first?.metadata.name ?? ''
  const volumes = [{ name: 'package', persistentVolumeClaim: { claimName: name } }]
  await world.pod('web-a', JSON.stringify(FIRST), 0, volumes)
  const starts = () => world.status(server => reasonOf(server, 'Ready') === 'Starting')
  await starts()
  await world.roll('mcp-web', 1)

  await world.server('web', { ...package_('1.0.1'), storage: { size: '1Gi', storageClassName: 'fast' } })
  assert.ok((await untilClaims(2)).some(claim => claim.metadata.name === name))
  await world.quiet()
  await world.roll('mcp-web', 1)
  await world.quiet()
  assert.equal((await claims()).length, 2)
  await world.client.delete({ apiVersion: 'v1', kind: 'Pod', namespace: world.namespace, name: 'web-a' })
  const [second] = await untilClaims(1)
  assert.notEqual(second?.metadata.name, name)

  await world.server('web', package_('1.0.1'))
  await world.quiet()
  await world.roll('mcp-web', 1)
  await untilClaims(0)
})
