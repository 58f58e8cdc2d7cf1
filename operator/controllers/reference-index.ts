/** Maps Secrets and ConfigMaps to the manifests that name them, so that a change queues only those. */
import type { ReferenceName } from '../plan/references.ts'
import type { Caches } from '../runtime/caches.ts'

export class ReferenceIndex {
  /** By `kind/namespace/name`: keys of the servers, or gateways, that name it. */
  readonly #users = new Map<string, Set<string>>()
  /** What each server or gateway names, by its key. */
  readonly #names = new Map<string, readonly string[]>()

  /** Replaces what a server or gateway (by its key) names; pass an empty list if it is gone. */
  set(key: string, namespace: string, references: readonly ReferenceName[]): void {
    for (const id of this.#names.get(key) ?? []) this.#leave(id, key)
    const ids = references.map(({ kind, name }) => idOf(kind, namespace, name))
    if (ids.length === 0) this.#names.delete(key)
    else this.#names.set(key, ids)
    for (const id of ids) {
      const users = this.#users.get(id) ?? new Set()
      this.#users.set(id, users.add(key))
    }
  }

  /** Keys of the servers or gateways that name an object. */
  users(kind: ReferenceName['kind'], namespace: string, name: string): readonly string[] {
    return [...(this.#users.get(idOf(kind, namespace, name)) ?? [])]
  }

  /** Calls `queue` with the key of every server or gateway that names a changed Secret or ConfigMap. */
  onChange(caches: Pick<Caches, 'secrets' | 'configMaps'>, queue: (key: string) => void): void {
    const kinds = [['Secret', caches.secrets] as const, ['ConfigMap', caches.configMaps] as const]
    for (const [kind, cache] of kinds) {
      cache.onChange((before, now) => {
        const { namespace = '', name = '' } = (now ?? before)?.metadata ?? {}
        for (const key of this.users(kind, namespace, name)) queue(key)
      })
    }
  }

  #leave(id: string, key: string): void {
    const users = this.#users.get(id)
    users?.delete(key)
    if (users?.size === 0) this.#users.delete(id)
  }
}

function idOf(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`
}
