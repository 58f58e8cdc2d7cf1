/** A controller's writes for an owner, under one field manager: Secrets, objects, deletions, status and events. */
import { type KubeObject, refOf } from '../../core/kube/object.ts'
import type { OperatorContext } from '../operator.ts'
import type { Plan, PlannedCondition, Taken } from '../plan/plan.ts'
import { createApplier } from '../runtime/apply.ts'
import { createStatusWriter, type StatusOwnership } from '../runtime/apply-status.ts'
import type { Manifest } from '../runtime/caches.ts'
import { createSecretKeeper, type SecretKeeper } from '../runtime/ensure-secret.ts'

/** Objects of other owners and policies of the cluster are not watched, so an apply that they block is tried again after this time. */
export const OBSTACLE_RETRY_MS = 30_000

/** Objects of other owners under our names, or why the API server refused an object. */
export type Obstacle = { taken: Taken[]; refused: string | undefined }

type Planned = Pick<Plan<unknown>, 'objects' | 'secrets' | 'untouched'>
type Secrets = Awaited<ReturnType<SecretKeeper>>

export type Writers<Status> = {
  /** Creates the Secrets of the plan, and keys that are missing in them. */
  ensureSecrets(owner: Manifest, plan: Planned, signal: AbortSignal): Promise<Secrets>
  /** Writes the objects, unless a Secret has another owner; resolves with the reasons why some were not written. */
  apply(owner: Manifest, plan: Planned, secrets: Secrets, signal: AbortSignal): Promise<Obstacle | undefined>
  /**
   * Deletes objects of the owner that are not in the plan, except kinds that another controller writes. `ownedBefore` has to be read before
   * the world is observed: otherwise an object that was created meanwhile, such as a Secret of logins, would be deleted.
   */
  prune(
    owner: Manifest,
    plan: Planned,
    ownedBefore: readonly KubeObject[],
    signal: AbortSignal,
    othersKinds?: readonly string[],
  ): Promise<void>
  /** Writes the status if it changed, and an event for each condition that changed. */
  report(owner: Manifest, status: Status, signal: AbortSignal): Promise<void>
}

export function createWriters<Status extends { conditions: PlannedCondition[] }>(
  context: OperatorContext,
  fieldManager: string,
  owned: StatusOwnership,
): Writers<Status> {
  const { client, caches, clock, log, metrics, events } = context
  const applier = createApplier({ client, log, metrics, fieldManager })
  const ensureSecrets = createSecretKeeper({ client, log, metrics, fieldManager })
  const writeStatus = createStatusWriter({ client, clock, metrics, owned, fieldManager })
  return {
    ensureSecrets: (owner, plan, signal) => ensureSecrets(owner, plan.secrets, caches.find, signal),
    async apply(owner, plan, secrets, signal) {
      if (secrets.taken.length > 0) return { taken: secrets.taken, refused: undefined }
      const { taken, refused, drift } = await applier.apply(owner, plan.objects, caches.find, signal)
      for (const found of drift) void events.driftRemoved(owner, found)
      return taken.length > 0 || refused !== undefined ? { taken, refused } : undefined
    },
    async prune(owner, plan, ownedBefore, signal, othersKinds = []) {
      const ours = ownedBefore.filter(({ kind }) => !othersKinds.includes(kind))
      const secrets = plan.secrets.map(({ name, namespace }) => ({ ...SECRET, name, namespace }))
      const kept = [...plan.objects.map(refOf), ...(plan.untouched ?? []), ...secrets]
      await applier.prune(owner, kept, ours, signal)
    },
    async report(owner, status, signal) {
      const { changed } = await writeStatus(owner, status, signal)
      void events.conditionsChanged(owner, changed)
    },
  }
}

const SECRET = { apiVersion: 'v1', kind: 'Secret' }
