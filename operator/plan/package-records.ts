/** Records which package contents the pods of a server installed: from their status into a ConfigMap that later pods are compared with. Pure. */
import type { V1ConfigMap, V1Pod } from '@kubernetes/client-node'
import type { Problem } from '../../core/errors.ts'
import { canonicalJson } from '../../core/json.ts'
import type { Kube } from '../../core/kube/object.ts'
import {
  isIntegrity,
  type KnownPackages,
  type PackageRecord,
  readRecord,
  recorded,
} from '../../core/packages/integrity.ts'
import { approveOf } from '../../crds/annotations.ts'
import { REASON } from '../../crds/conditions.ts'
import type { McpServer } from '../../crds/server.ts'
import { deniedVerdict } from './conditions.ts'
import { labelsOf, packagesName } from './names.ts'

/** The key in the ConfigMap that contains the records. */
export const PACKAGES_KEY = 'packages.json'
/** The init container that installs the package of a server. */
export const INSTALLER = 'install'
/** About 200 KiB. Further installations are not recorded, which the status says. */
export const MAX_RECORDS = 1_000

/** What a pod reports that it installed. */
export type PackageReport = { pod: string; record: PackageRecord }

/** Reports about the server's current package, that of the oldest pod first. */
export function packageReports({ spec }: McpServer, pods: readonly Kube<V1Pod>[]): PackageReport[] {
  const kind = spec.npm ? 'npm' : 'pypi'
  const name = (spec.npm ?? spec.pypi)?.package
  return pods.toSorted(byAge).flatMap(pod => {
    const record = reportOf(pod)
    return record?.kind === kind && record.package === name ? [{ pod: pod.metadata.name, record }] : []
  })
}

/** The integrity that the annotation approves; undefined if there is none, or it approves tools. */
export function approvedIntegrity(server: Parameters<typeof approveOf>[0]): string | undefined {
  const approved = approveOf(server)
  return isIntegrity(approved) ? approved : undefined
}

/** The records with those that the reports add. The first report of a version counts. Only a report with the approved integrity replaces another. */
export function withReports(
  known: KnownPackages,
  reports: readonly PackageReport[],
  approved: string | undefined,
): KnownPackages {
  const records = [...known.records]
  for (const { record } of reports) {
    const before = recorded(records, record)
    if (!before && records.length < MAX_RECORDS) records.push(record)
    if (before && record.integrity === approved) records[records.indexOf(before)] = record
  }
  return { records: sorted(records), ...(approved && { approved }) }
}

/** Reports that contradict the records. */
export function contradicting(
  { records, approved }: KnownPackages,
  reports: readonly PackageReport[],
): PackageReport[] {
  return reports.filter(({ record }) => {
    const known = recorded(records, record)
    return known && known.integrity !== record.integrity && record.integrity !== approved
  })
}

/** Happens if pods that started at the same time got different contents, or if a pod from before an approval still runs. */
export function otherContentProblem({ pod, record }: PackageReport): Problem {
  const { kind, package: name, version, integrity } = record
  return {
    reason: REASON.integrityChanged,
    path: `spec.${kind}`,
    message: `the pod ${pod} runs other content of ${name} ${version} than was recorded first: ${integrity}. Delete the pod: the next one is compared before it starts`,
  }
}

/** Reports that have no record, because the records are full. */
export function unrecorded({ records }: KnownPackages, reports: readonly PackageReport[]): PackageReport[] {
  return reports.filter(({ record }) => !recorded(records, record))
}

export function unrecordedProblem({ metadata }: McpServer, { record }: PackageReport): Problem {
  const { kind, package: name, version } = record
  return {
    reason: REASON.tooLarge,
    path: `spec.${kind}`,
    message: `${name} ${version} is not recorded, so its content is not compared: ${MAX_RECORDS} versions are recorded already. Delete the ConfigMap ${packagesName(metadata.name)}: what runs is then recorded again`,
  }
}

/** `answer`: that of the API server, which does not let the records be read or written. */
export function recordsDeniedProblem({ metadata, spec }: McpServer, answer: string): Problem {
  const { reason, message } = deniedVerdict(answer)
  return {
    reason,
    path: `spec.${spec.npm ? 'npm' : 'pypi'}`,
    message: `the content of its package is not compared without the ConfigMap ${packagesName(metadata.name)}. ${message}`,
  }
}

/** The ConfigMap with the records. */
export function packagesObject({ metadata }: McpServer, known: KnownPackages): Kube<V1ConfigMap> {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: packagesName(metadata.name),
      namespace: metadata.namespace,
      labels: labelsOf('packages', metadata.name),
    },
    data: { [PACKAGES_KEY]: canonicalJson(known) },
  }
}

/** What a pod's installer wrote into its termination message; undefined if it has not succeeded. */
function reportOf({ metadata, status }: Kube<V1Pod>): PackageRecord | undefined {
  const installer = status?.initContainerStatuses?.find(({ name }) => name === INSTALLER)
  const { exitCode, message = '' } = installer?.state?.terminated ?? {}
  if (exitCode !== 0 || metadata.deletionTimestamp) return undefined
  try {
    return readRecord(JSON.parse(message))
  } catch {
    return undefined
  }
}

function byAge({ metadata: one }: Kube<V1Pod>, { metadata: other }: Kube<V1Pod>): number {
  const [a, b] = [one, other].map(({ creationTimestamp = '', name }) => `${creationTimestamp} ${name}`)
  return (a ?? '') < (b ?? '') ? -1 : 1
}

function sorted(records: readonly PackageRecord[]): PackageRecord[] {
  const keyed = records.map(record => ({ record, key: canonicalJson(record) }))
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ record }) => record)
}
