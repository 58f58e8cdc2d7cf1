/** Reads the Secrets and ConfigMaps that manifests name. Caches know their versions; each version is requested from the API server once. */
import { createHash } from 'node:crypto'
import type { V1ConfigMap, V1Secret } from '@kubernetes/client-node'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import type { Reference } from '../plan/plan.ts'
import type { ReferenceName } from '../plan/references.ts'

/** How many objects' contents are remembered; others are read again. */
const MAX_REMEMBERED = 4_000

export type ReferencesOptions = {
  client: Pick<KubeClient, 'get'>
  /** The metadata of an object, from the caches. */
  metadataOf: (kind: Reference['kind'], key: string) => KubeObject | undefined
}

type Known = { resourceVersion: string | undefined; reference: Reference }

export class References {
  readonly #options: ReferencesOptions
  /** By `kind/namespace/name`. */
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

  async #readOne(namespace: string, { kind, name }: ReferenceName, signal: AbortSignal): Promise<Reference> {
    const id = `${kind}/${namespace}/${name}`
    const known = this.#known.get(id)
    const seen = this.#options.metadataOf(kind, `${namespace}/${name}`)
    if (known && known.resourceVersion === seen?.metadata.resourceVersion) return known.reference
    const found = seen && (await this.#fetch(namespace, { kind, name }, signal))
    if (!found) return { digests: {}, ...known?.reference, kind, name, exists: false }
    this.#known.set(id, found)
    return found.reference
  }

  async #fetch(
    namespace: string,
    { kind, name }: ReferenceName,
    signal: AbortSignal,
  ): Promise<Known | undefined> {
    const ref = { apiVersion: 'v1', kind, namespace, name }
    const found = await this.#options.client.get<Kube<V1Secret> & Kube<V1ConfigMap>>(ref, signal)
    if (!found) return undefined
    const { data = {}, metadata } = found
    const binary = kind === 'ConfigMap' ? (found.binaryData ?? {}) : {}
    const reference = { kind, name, exists: true, digests: digestsOf({ ...data, ...binary }) }
    // Whole, however long: the revoked tokens of a gateway are in ConfigMaps too, and a part of them would admit the others.
    const values = kind === 'Secret' ? {} : { values: data }
    return { resourceVersion: metadata.resourceVersion, reference: { ...reference, ...values } }
  }
}

function digestsOf(data: Record<string, string>): Record<string, string> {
  const digest = (value: string) => createHash('sha256').update(value).digest('hex')
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, digest(value)]))
}
