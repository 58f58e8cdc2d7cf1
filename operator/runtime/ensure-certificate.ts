/** Creates and renews the certificate of a bridge with TLS, unless another program manages it. */
import type { V1Secret } from '@kubernetes/client-node'
import type { KubeClient } from '../../core/kube/client.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { decodedData, encodedValue } from '../../core/kube/secret.ts'
import type { Log } from '../../core/log.ts'
import { type CertificateData, certificateProblem, renewalOf } from '../plan/certificate.ts'
import type { OperatorMetrics } from './operator-metrics.ts'
import { isOwnedBy, ownedBy } from './owner-reference.ts'
import { createSelfSigned } from './self-signed.ts'

export type CertificateWanted = {
  owner: KubeObject
  name: string
  /** The host name that the certificate is for. */
  host: string
  labels: Record<string, string>
}

export type CertificateFound = {
  data: CertificateData
  resourceVersion?: string
  /** When we renew it, in milliseconds since the epoch; absent if another program manages it. */
  renewAt?: number
}

/** Creates a missing Secret, and replaces our own certificate before it expires. `now`: milliseconds since the epoch. Throws ApiError. */
export type CertificateKeeper = (
  wanted: CertificateWanted,
  now: number,
  signal: AbortSignal,
) => Promise<CertificateFound>

type Secret = Kube<V1Secret>

export function createCertificateKeeper(options: {
  client: Pick<KubeClient, 'get' | 'apply'>
  log: Log
  metrics: OperatorMetrics
  fieldManager: string
}): CertificateKeeper {
  const { client, log, metrics, fieldManager } = options
  return async ({ owner, name, host, labels }, now, signal) => {
    const { namespace } = owner.metadata
    const found = await client.get<Secret>({ apiVersion: 'v1', kind: 'Secret', namespace, name }, signal)
    if (found && !isOwnedBy(found, owner)) return read(found)
    const existing = found && read(found)
    const isGood = existing && certificateProblem(existing.data, name, host, now) === undefined
    // A certificate that cannot be used is replaced at once.
    const renewAt = isGood ? renewalOf(existing.data) : 0
    if (existing && now < renewAt) return { ...existing, renewAt }
    const { cert, key } = await createSelfSigned(host, now)
    const data = { 'tls.crt': encodedValue(cert), 'tls.key': encodedValue(key), 'ca.crt': encodedValue(cert) }
    const object = ownedBy({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, labels } }, owner)
    // A conflict if another client has replaced the Secret that was found (another uid) or has created one (no force).
    const metadata = { ...object.metadata, ...(found && { uid: found.metadata.uid }) }
    const secret: Secret = { ...object, metadata, type: 'kubernetes.io/tls', data }
    const written = await client.apply(secret, { fieldManager, force: found !== undefined }, signal)
    metrics.wrote('Secret', found ? 'apply' : 'create')
    log.info({ namespace, name, created: !found }, 'certificate written')
    const stored = read(written)
    return { ...stored, renewAt: renewalOf(stored.data) }
  }
}

function read({ data, metadata }: Secret): CertificateFound {
  return { data: decodedData(data), resourceVersion: metadata.resourceVersion }
}
