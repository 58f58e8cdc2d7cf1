/** The volumes of users: created with a user's first pod, and kept for `retainFor` after the last one. Pure. */
import type { V1PersistentVolumeClaim } from '@kubernetes/client-node'
import { instanceName } from '../../core/catalog/object-names.ts'
import type { Kube } from '../../core/kube/object.ts'
import { idOfUser } from '../../core/mcp/user.ts'
import { parseDuration } from '../../crds/quantity.ts'
import type { McpServer } from '../../crds/server.ts'
import { RETAIN_FOR } from '../../crds/users.ts'
import { ANNOTATION, labelsOf } from './names.ts'
import type { ServerWorld } from './plan.ts'

type Claim = Kube<V1PersistentVolumeClaim>

/** Unused claims are checked again after at most this time, even if nothing changes. */
const MAX_WAIT_MS = 24 * 3_600_000

/** `objects`: the claims that should exist; `afterMs`: when to decide again even if nothing happens. */
export type UserClaims = { objects: Claim[]; afterMs?: number }

/**
 * The claims of users with a pod, and those of other users until `retainFor` has passed. The latter stay even if `users.volume` or
 * `sessions: perUser` was removed, so that a mistake in a manifest deletes no files.
 */
export function userClaims(world: ServerWorld, wanted: readonly string[]): UserClaims {
  const { server, users, now } = world
  const volume = server.spec.users?.volume
  const retainMs = parseDuration(volume?.retainFor ?? RETAIN_FOR)
  const claims = new Map(users?.claims.map(({ user, claim }) => [user, claim]))
  const used = volume ? wanted.map(user => claimOf(server, user, claims.get(user))) : []
  const kept: Claim[] = []
  const remainingMs: number[] = []
  for (const [user, claim] of claims) {
    if (volume && wanted.includes(user)) continue
    const since = unusedSinceMs(claim) ?? now
    const leftMs = since + retainMs - now
    if (leftMs <= 0) continue
    kept.push(claimOf(server, user, claim, since))
    remainingMs.push(leftMs)
  }
  const afterMs = remainingMs.length > 0 ? Math.min(...remainingMs, MAX_WAIT_MS) : undefined
  return { objects: [...used, ...kept], ...(afterMs !== undefined && { afterMs }) }
}

/** Since when nobody uses a claim; undefined if its annotation says no time. Only digits are one: blanks, read as 0, would delete the claim. */
function unusedSinceMs({ metadata }: Claim): number | undefined {
  const since = metadata.annotations?.[ANNOTATION.unusedSince] ?? ''
  return /^\d{1,15}$/.test(since) ? Number(since) : undefined
}

/** Whether another user whose digest has the same beginning, and so the same id, has a volume. */
export function isIdTaken({ users }: Pick<ServerWorld, 'users'>, user: string): boolean {
  return users?.claims.some(other => other.user !== user && idOfUser(other.user) === idOfUser(user)) ?? false
}

/** An existing claim keeps its spec, most of which is immutable; only the annotation about when it was last used changes. */
function claimOf({ metadata, spec }: McpServer, user: string, existing?: Claim, since?: number): Claim {
  const { name, namespace } = metadata
  const { size = '1Gi', storageClassName } = spec.users?.volume ?? {}
  const id = idOfUser(user)
  const planned = {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: size } },
    ...(storageClassName !== undefined && { storageClassName }),
  }
  const { accessModes, resources, storageClassName: given } = existing?.spec ?? planned
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: instanceName(name, id),
      namespace,
      labels: labelsOf('user', name, id),
      annotations: {
        [ANNOTATION.user]: user,
        ...(since !== undefined && { [ANNOTATION.unusedSince]: String(since) }),
      },
    },
    spec: { accessModes, resources, ...(given !== undefined && { storageClassName: given }) },
  }
}
