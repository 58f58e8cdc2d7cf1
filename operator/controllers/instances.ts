/** Observes the pods of a server's users, and remembers when each was last used. */
import type { V1Pod } from '@kubernetes/client-node'
import { hasInstances } from '../../core/catalog/instances.ts'
import { instanceName } from '../../core/catalog/object-names.ts'
import { selectUserSecrets } from '../../core/catalog/user-secrets.ts'
import type { Kube } from '../../core/kube/object.ts'
import { idOfUser, USER_DIGEST } from '../../core/mcp/user.ts'
import type { McpServer } from '../../crds/server.ts'
import { ANNOTATION, USER_LABEL } from '../plan/names.ts'
import type { UsersWorld } from '../plan/plan.ts'
import type { UserDemand } from '../plan/user-instances.ts'
import type { Caches, Manifest } from '../runtime/caches.ts'

export class Instances {
  readonly #caches: Caches
  /** By server: when each user's pod was last used. */
  readonly #usedAtMs = new Map<string, ReadonlyMap<string, number>>()

  constructor(caches: Caches) {
    this.#caches = caches
  }

  /** What is observed of a server's users; undefined if they have no pods or volumes. `key`: that of the server. */
  observe(key: string, object: Manifest, server: McpServer, demand: UserDemand): UsersWorld | undefined {
    const { namespace = '', name, uid = '' } = object.metadata
    const pods = Map.groupBy(this.pods(object), ({ metadata }) => metadata.labels?.[USER_LABEL] ?? '')
    const instances = this.#caches.ownedBy(uid).flatMap(({ kind, metadata }) => {
      const user = metadata.annotations?.[ANNOTATION.user] ?? ''
      if (kind !== 'Deployment' || !USER_DIGEST.test(user)) return []
      const id = idOfUser(user)
      const deployment = this.#caches.deployments.get(`${namespace}/${instanceName(name, id)}`)
      return deployment?.metadata.name === metadata.name
        ? [{ user, deployment, pods: pods.get(id) ?? [] }]
        : []
    })
    const users = [...instances.map(({ user }) => user), ...demand.waiting]
    const claims = this.#claims(object, users)
    if (!hasInstances(server) && claims.length === 0) return undefined
    const usedAtMs = this.#usedAtMs.get(key) ?? new Map()
    return { demand, usedAtMs, instances, claims, secrets: this.#secrets(namespace, server, new Set(users)) }
  }

  /** The pods of all users of a server. */
  pods({ metadata: { namespace = '', name } }: Manifest): Kube<V1Pod>[] {
    return this.#caches.podsOf(namespace, 'user', name)
  }

  /** Remembers the times of last use for the next decision. */
  remember(key: string, usedAtMs: ReadonlyMap<string, number> | undefined): void {
    if (usedAtMs) this.#usedAtMs.set(key, usedAtMs)
    else this.#usedAtMs.delete(key)
  }

  /** A claim whose annotation was lost is that of the user of `users` whose id its name has. */
  #claims({ metadata: { namespace = '', name, uid = '' } }: Manifest, users: string[]): UsersWorld['claims'] {
    return this.#caches.ownedBy(uid).flatMap(({ kind, metadata }) => {
      if (kind !== 'PersistentVolumeClaim') return []
      const annotated = metadata.annotations?.[ANNOTATION.user] ?? ''
      const isOf = (user: string) => metadata.name === instanceName(name, idOfUser(user))
      const user = [annotated, ...users].find(user => USER_DIGEST.test(user) && isOf(user))
      const claim = this.#caches.claims.get(`${namespace}/${metadata.name}`)
      return user !== undefined && claim ? [{ user, claim }] : []
    })
  }

  /** Names of the Secrets of these users, by their digests. */
  #secrets(
    namespace: string,
    server: McpServer,
    users: ReadonlySet<string>,
  ): ReadonlyMap<string, string> | undefined {
    if (!server.spec.auth?.perUser?.secrets) return undefined
    const secrets = [...this.#caches.secrets.objects.values()].filter(
      ({ metadata }) => metadata.namespace === namespace,
    )
    const found = selectUserSecrets(server, secrets).filter(({ user }) => users.has(user.digest))
    return new Map(found.map(({ user, secret }) => [user.digest, secret.metadata.name]))
  }
}
