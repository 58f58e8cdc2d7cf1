/**
 * Reads the Secrets and ConfigMaps that manifests name. Caches know their versions; each version is requested from the API server once,
 * or twice if both a server and `auth` of a gateway name it.
 */
import { createHash } from 'node:crypto'
import type { V1ConfigMap, V1Secret } from '@kubernetes/client-node'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { MAX_HEADER_CHARACTERS } from '../../crds/core-v1.ts'
import type { Reference } from '../plan/plan.ts'
import type { ReferenceName } from '../plan/references.ts'

/** How many objects' contents are remembered; others are read again. */
const MAX_REMEMBERED = 4_000
/** A value that is longer is too long for a header, even without the line break at its end. */
const MAX_OF_HEADER = MAX_HEADER_CHARACTERS + '\r\n'.length

export type ReferencesOptions = {
  client: Pick<KubeClient, 'get'>
  /** The metadata of an object, from the caches. */
  metadataOf: (kind: Reference['kind'], key: string) => KubeObject | undefined
}

type Known = { resourceVersion: string | undefined; reference: Reference }

export class References {
  readonly #options: ReferencesOptions
  /** By `kind/namespace/name`. ConfigMaps that are needed whole are separate: what is kept of one must never be a part. */
  readonly #known = new BoundedMap<Known>(MAX_REMEMBERED)

  constructor(options: ReferencesOptions) {
    this.#options = options
  }

  /**
   * One result per name. A deleted object keeps its last content: programs that manage Secrets often delete one and create it again.
   * Throws ApiError.
   */
  read(namespace: string, names: readonly ReferenceName[], signal: AbortSignal): Promise<Reference[]> {
    return Promise.all(names.map(name => this.#readOne(namespace, name, signal)))
  }

  async #readOne(namespace: string, named: ReferenceName, signal: AbortSignal): Promise<Reference> {
    const { kind, name, whole } = named
    const id = `${whole ? 'whole/' : ''}${kind}/${namespace}/${name}`
    const known = this.#known.get(id)
    const seen = this.#options.metadataOf(kind, `${namespace}/${name}`)
    if (known && known.resourceVersion === seen?.metadata.resourceVersion) return known.reference
    const found = seen && (await this.#fetch(namespace, named, signal))
    if (!found) return { digests: {}, ...known?.reference, kind, name, exists: false }
    this.#known.set(id, found)
    return found.reference
  }

  async #fetch(
    namespace: string,
    { kind, name, whole }: ReferenceName,
    signal: AbortSignal,
  ): Promise<Known | undefined> {
    const ref = { apiVersion: 'v1', kind, namespace, name }
    const found = await this.#options.client.get<Kube<V1Secret> & Kube<V1ConfigMap>>(ref, signal)
    if (!found) return undefined
    const { data = {}, metadata } = found
    const binary = kind === 'ConfigMap' ? (found.binaryData ?? {}) : {}
    const reference = { kind, name, exists: true, digests: digestsOf({ ...data, ...binary }) }
    const values = kind === 'Secret' ? {} : { values: whole ? data : forHeaders(data) }
    return { resourceVersion: metadata.resourceVersion, reference: { ...reference, ...values } }
  }
}

/** Of values that are too long, only the beginning, as a copy: a slice would keep the whole text in memory. */
function forHeaders(data: Record<string, string>): Record<string, string> {
  const kept = (value: string) =>
    value.length <= MAX_OF_HEADER ? value : Buffer.from(value.slice(0, MAX_OF_HEADER + 1)).toString()
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, kept(value)]))
}

function digestsOf(data: Record<string, string>): Record<string, string> {
  const digest = (value: string) => createHash('sha256').update(value).digest('hex')
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, digest(value)]))
}
