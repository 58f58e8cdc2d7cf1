/** Which content of a package counts, of all that pods report: the first one, unless another was approved. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { type PackageRecord, parseKnown } from '../../core/packages/integrity.ts'
import { APPROVE_ANNOTATION } from '../../crds/annotations.ts'
import { API_VERSION } from '../../crds/object-meta.ts'
import { mcpServerSchema } from '../../crds/server.ts'
import {
  approvedIntegrity,
  contradicting,
  MAX_RECORDS,
  PACKAGES_KEY,
  packageReports,
  packagesObject,
  unrecorded,
  unrecordedProblem,
  withReports,
} from './package-records.ts'

const MAX_OBJECT_BYTES = 2 ** 20
const FIRST: PackageRecord = { kind: 'npm', package: 'greeter', version: '1.0.0', integrity: 'sha512-first' }
const OTHER = { ...FIRST, integrity: 'sha512-other' }
const server = mcpServerSchema.parse({
  apiVersion: API_VERSION,
  kind: 'McpServer',
  metadata: { name: 'greeter', namespace: 'team' },
  spec: { npm: { package: 'greeter' } },
})

type PodOptions = { created?: string; exitCode?: number; leaving?: boolean; container?: string }

function pod(name: string, message: string, options: PodOptions = {}): Kube<V1Pod> {
  const { created = '2026-01-01T00:00:00Z', exitCode = 0, leaving, container = 'install' } = options
  const initContainerStatuses = [{ name: container, state: { terminated: { exitCode, message } } }]
  const metadata = { name, creationTimestamp: created, ...(leaving && { deletionTimestamp: created }) }
  return { kind: 'Pod', metadata, status: { initContainerStatuses } } as unknown as Kube<V1Pod>
}

const reporting = (record: object, name = 'a', options?: PodOptions) =>
  pod(name, JSON.stringify(record), options)

test('only reports of a successful installer, about the current package, count', () => {
  const pods = [
    reporting(FIRST, 'good'),
    reporting(FIRST, 'failed', { exitCode: 1 }),
    reporting(FIRST, 'leaving', { leaving: true }),
    reporting(FIRST, 'other-container', { container: 'init' }),
    reporting({ ...FIRST, package: 'another' }),
    reporting({ ...FIRST, kind: 'pypi' }),
    reporting({ ...FIRST, integrity: 'x'.repeat(600) }),
    pod('text', 'added 1 package'),
    pod('silent', ''),
  ]
  assert.deepEqual(packageReports(server, pods), [{ pod: 'good', record: FIRST }])
})

test('if two pods report different contents, that of the older one is recorded', () => {
  const pods = [reporting(OTHER, 'new', { created: '2026-01-02T00:00:00Z' }), reporting(FIRST, 'old')]
  const reports = packageReports(server, pods)
  const known = withReports({ records: [] }, reports, undefined)
  assert.deepEqual(known, { records: [FIRST] })
  assert.deepEqual(contradicting(known, reports), [{ pod: 'new', record: OTHER }])
})

test('another version is recorded too; other content of a recorded version only once it is approved', () => {
  const next = { ...OTHER, version: '1.0.1' }
  const reports = [OTHER, next].map(record => ({ pod: 'a', record }))
  assert.deepEqual(withReports({ records: [FIRST] }, reports, undefined).records, [FIRST, next])
  for (const wrong of ['sha512-third', '8c1f'])
    assert.ok(withReports({ records: [FIRST] }, reports, wrong).records.includes(FIRST))
  const approved = withReports({ records: [FIRST] }, reports, OTHER.integrity)
  assert.deepEqual(approved, { records: [OTHER, next], approved: OTHER.integrity })
  // The approved content stays recorded without the annotation, even while an older pod still runs.
  const later = withReports(approved, [{ pod: 'old', record: FIRST }], undefined)
  assert.deepEqual(later, { records: [OTHER, next] })
})

test('an approval of tools approves no package', () => {
  const annotated = (value: string) => ({ metadata: { annotations: { [APPROVE_ANNOTATION]: value } } })
  assert.equal(approvedIntegrity(annotated('8c1f'.repeat(16))), undefined)
  assert.equal(approvedIntegrity(annotated('')), undefined)
  assert.equal(approvedIntegrity(annotated(' sha512-a/b+c== ')), 'sha512-a/b+c==')
})

test('the maximum number of records fits into a ConfigMap and is read back', () => {
  const record = { ...FIRST, package: 'p'.repeat(214), integrity: `sha512-${'a'.repeat(88)}` }
  const reports = Array.from({ length: MAX_RECORDS + 1 }, (_, at) => ({
    pod: 'a',
    record: { ...record, version: `1.0.${at}` },
  }))
  const known = withReports({ records: [] }, reports, undefined)
  assert.equal(known.records.length, MAX_RECORDS)
  const [left, ...others] = unrecorded(known, reports)
  assert.deepEqual([left?.record.version, others], [`1.0.${MAX_RECORDS}`, []])
  assert.match(
    left ? unrecordedProblem(server, left).message : '',
    /1000 versions.*ConfigMap greeter-packages/,
  )
  const text = packagesObject(server, known).data?.[PACKAGES_KEY] ?? ''
  assert.ok(text.length < MAX_OBJECT_BYTES / 2)
  assert.deepEqual(parseKnown(text), known)
})
