/** The certificates of bridges with TLS, and which ones their callers trust while a new one replaces a former one. */
import { BoundedMap } from '../../core/bounded-map.ts'
import {
  AUTHORITY_KEY,
  certificateName,
  serverHost,
  serverObjectName,
} from '../../core/catalog/object-names.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import { keyOf } from '../../core/kube/object.ts'
import { readSecret } from '../../core/kube/secret.ts'
import { authorityOf, certificateProblem, type ServerCertificate, withFormer } from '../plan/certificate.ts'
import { labelsOf } from '../plan/names.ts'
import type { Caches, Manifest } from '../runtime/caches.ts'
import type { CertificateFound, CertificateKeeper } from '../runtime/ensure-certificate.ts'

/** How long callers also trust the former certificate. The kubelet updates the file within two minutes, and the bridge loads it a little later. */
export const FORMER_MS = 10 * 60_000
/** If another program manages the Secret and has deleted it, it is expected to create the Secret again within this time. */
const AWAY_MS = 60_000
const MAX_REMEMBERED = 20_000
/** Well below the 24.8 days that a timer can wait at most. */
const MAX_WAIT_MS = 24 * 60 * 60_000

export type CertificatesOptions = {
  client: Pick<KubeClient, 'get'>
  caches: Pick<Caches, 'secrets'>
  keep: CertificateKeeper
}

/** `afterMs`: when the certificate, or what callers trust, may have to change. */
export type KeptCertificate = { certificate?: ServerCertificate; afterMs?: number }

/** `awayUntil`: the Secret is missing, and until this time we wait for the program that manages it. */
type Found = CertificateFound & { awayUntil?: number }
/** `trusted`: the certificates that callers trust now. Those that are not in `authority` are removed at `formerUntil`. */
type Known = Found & { authority: string; trusted: string; formerUntil: number }

export class Certificates {
  readonly #options: CertificatesOptions
  /** By key of the server. */
  readonly #known = new BoundedMap<Known>(MAX_REMEMBERED)

  constructor(options: CertificatesOptions) {
    this.#options = options
  }

  /** The certificate of a server with `tls`, created if there is none. Its Secret is read again only if it changed. Throws ApiError. */
  async of(object: Manifest, now: number, signal: AbortSignal): Promise<KeptCertificate> {
    const { name, namespace = '' } = object.metadata
    const key = keyOf(object)
    const known = this.#known.get(key)
    const found = await this.#find(object, known, now, signal)
    const authority = authorityOf(found.data)
    const before = known?.trusted ?? (await this.#trusted(namespace, name, signal))
    const formerUntil = authority === known?.authority ? known.formerUntil : now + FORMER_MS
    const trusted = withFormer(authority, now < formerUntil ? before : undefined)
    this.#known.set(key, { ...found, authority, trusted, formerUntil })
    const hasFormer = trusted !== withFormer(authority, undefined)
    const waits = [found.renewAt, hasFormer ? formerUntil : undefined, found.awayUntil].flatMap(at =>
      at === undefined ? [] : [at - now],
    )
    const problem = certificateProblem(found.data, certificateName(name), serverHost(name, namespace), now)
    return {
      certificate: { authority: trusted, problem },
      ...(waits.length > 0 && { afterMs: Math.min(MAX_WAIT_MS, ...waits) }),
    }
  }

  /** The current Secret. If another program manages it and it is missing, the last known one, since that program may be about to create it again. */
  #find(
    object: Manifest,
    known: Known | undefined,
    now: number,
    signal: AbortSignal,
  ): Found | Promise<Found> {
    const { name, namespace = '' } = object.metadata
    const wanted = {
      owner: object,
      name: certificateName(name),
      host: serverHost(name, namespace),
      labels: labelsOf('server', name),
    }
    const seen = this.#options.caches.secrets.get(`${namespace}/${wanted.name}`)
    if (known && !seen && known.renewAt === undefined) {
      const awayUntil = known.awayUntil ?? now + AWAY_MS
      if (now < awayUntil) return { ...known, awayUntil }
    }
    const isUpToDate = known && seen && known.resourceVersion === seen.metadata.resourceVersion
    const isDue = known?.renewAt !== undefined && now >= known.renewAt
    return isUpToDate && !isDue ? { ...known, awayUntil: undefined } : this.#options.keep(wanted, now, signal)
  }

  /** The certificates that callers trust according to the server's Secret, which an earlier operator process may have written. */
  async #trusted(namespace: string, server: string, signal: AbortSignal): Promise<string | undefined> {
    return (await readSecret(this.#options.client, namespace, serverObjectName(server), signal))?.[
      AUTHORITY_KEY
    ]
  }
}
