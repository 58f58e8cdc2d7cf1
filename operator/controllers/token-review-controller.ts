/** The token review controller: lets the routers of gateways with `auth.serviceAccounts.review`, and no others, create TokenReviews. */
import type { OperatorContext } from '../operator.ts'
import { asksForReviews, reviewSubjects } from '../plan/token-review.ts'
import { writeBindingSubjects } from '../runtime/binding-subjects.ts'
import type { Manifest } from '../runtime/caches.ts'
import type { Controller } from '../runtime/controller.ts'
import { Queue } from '../runtime/queue.ts'
import type { Manifests } from './parsed-manifests.ts'

const FIELD_MANAGER = 'portolan-token-review'
/** Changes within this time are joined into one write. */
const JOIN_MS = 100
const UNLISTED_RETRY_MS = 30_000

/** Undefined if the chart made no binding: then gateways that need reviews are refused. */
export function createTokenReviewController(
  options: OperatorContext & { manifests: Manifests },
): Controller | undefined {
  const { caches, manifests, settings, clock, random } = options
  const binding = settings.tokenReviewBinding
  if (binding === '') return undefined
  const queue = new Queue({ clock, random })
  const needsReviews = (object: Manifest | undefined): boolean => {
    const gateway = object && !object.metadata.deletionTimestamp && manifests.gateway(object).manifest
    return gateway ? asksForReviews(gateway) : false
  }
  caches.gateways.onChange((before, now) => {
    // In a resync both are the same object. The binding is then written again, in case another client has changed it.
    if (before === now ? needsReviews(now) : needsReviews(before) !== needsReviews(now))
      queue.addAfter(binding, JOIN_MS)
  })
  // Gateways may have been deleted while no operator ran.
  queue.add(binding)
  return {
    name: 'token-review',
    queue,
    workers: 1,
    async reconcile(key, signal) {
      const gateways = [...caches.gateways.objects.values()]
        .filter(needsReviews)
        .flatMap(object => manifests.gateway(object).manifest ?? [])
      const unlisted = caches.gateways.unlisted.map(({ namespace }) => namespace)
      const keeps = (namespace = '') => unlisted.includes(namespace)
      await writeBindingSubjects(
        { ...options, fieldManager: FIELD_MANAGER, keeps },
        key,
        reviewSubjects(gateways),
        signal,
      )
      // When such a namespace is listed, nothing else may tell that its gateway is gone.
      return unlisted.length > 0 ? { afterMs: UNLISTED_RETRY_MS } : undefined
    },
  }
}
