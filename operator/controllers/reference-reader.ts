/** Reads the Secrets and ConfigMaps that manifests name: versions from the caches, keys with one request per version. */
import type { V1ConfigMap, V1Secret } from '@kubernetes/client-node'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import type { Reference } from '../plan/plan.ts'
import type { ReferenceName } from '../plan/references.ts'

/** Objects whose keys are remembered; others are read again. */
const MAX_REMEMBERED = 4_000
/** Values are used in headers, which are never longer; longer values are not remembered. */
const MAX_VALUE_CHARACTERS = 8_192

export type ReferencesOptions = {
  client: Pick<KubeClient, 'get'>
  /** The metadata of an object, from the caches. */
  metadataOf: (kind: Reference['kind'], key: string) => KubeObject | undefined
}

export class References {
  readonly #options: ReferencesOptions
  /** By `kind/namespace/name`. */
  readonly #known = new BoundedMap<Reference>(MAX_REMEMBERED)

  constructor(options: ReferencesOptions) {
    this.#options = options
  }

  /** One result per name; a missing object has no resourceVersion. Throws ApiError. */
  read(namespace: string, names: readonly ReferenceName[], signal: AbortSignal): Promise<Reference[]> {
    return Promise.all(names.map(name => this.#readOne(namespace, name, signal)))
  }

  async #readOne(namespace: string, { kind, name }: ReferenceName, signal: AbortSignal): Promise<Reference> {
    const seen = this.#options.metadataOf(kind, `${namespace}/${name}`)
    if (!seen) return { kind, name, keys: [] }
    const id = `${kind}/${namespace}/${name}`
    const known = this.#known.get(id)
    const current = known?.resourceVersion === seen.metadata.resourceVersion ? known : undefined
    const found = current ?? (await this.#ask(namespace, { kind, name }, signal))
    if (found.resourceVersion === undefined) this.#known.delete(id)
    else this.#known.set(id, found)
    return found
  }

  async #ask(namespace: string, { kind, name }: ReferenceName, signal: AbortSignal): Promise<Reference> {
    const ref = { apiVersion: 'v1', kind, namespace, name }
    const found = await this.#options.client.get<Kube<V1Secret> & Kube<V1ConfigMap>>(ref, signal)
    if (!found) return { kind, name, keys: [] }
    const { data = {}, metadata } = found
    const binary = kind === 'ConfigMap' ? (found.binaryData ?? {}) : {}
    const keys = [...Object.keys(data), ...Object.keys(binary)].sort()
    const reference: Reference = { kind, name, resourceVersion: metadata.resourceVersion, keys }
    return kind === 'Secret' ? reference : { ...reference, values: short(data) }
  }
}

function short(data: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value.length <= MAX_VALUE_CHARACTERS))
}
