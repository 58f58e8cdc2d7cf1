/** Queues a server for discovery when its target, refresh annotation or Deployment changes, or its slices are deleted. */
import { keyOf } from '../../core/kube/object.ts'
import { approveOf, refreshOf } from '../../crds/annotations.ts'
import { USER_LABEL } from '../plan/names.ts'
import type { Queue } from '../runtime/queue.ts'
import type { DiscoveryOptions } from './discovery-controller.ts'
import { namesItsSet, serverOfSlice } from './slice-sets.ts'

/** `rediscover` is called when slices of a server were deleted or changed by others. */
export function wakeOnChanges(
  {
    caches,
    targets,
    slices,
    publisher,
  }: Pick<DiscoveryOptions, 'caches' | 'targets' | 'slices' | 'publisher'>,
  queue: Queue,
  rediscover: (key: string) => void,
): void {
  targets.onChange(key => queue.add(key))
  caches.servers.onChange((before, now) => {
    if (before && before.metadata.uid !== now?.metadata.uid) publisher.forget(before.metadata.uid)
    const isRequested = refreshOf(before) !== refreshOf(now) || approveOf(before) !== approveOf(now)
    if (now && isRequested) queue.add(keyOf(now))
  })
  caches.deployments.onChange((before, now) => {
    const { namespace, ownerReferences, labels } = (now ?? before)?.metadata ?? {}
    // Discovery does not use the pods of users.
    if (labels?.[USER_LABEL] !== undefined) return
    const owner = ownerReferences?.find(({ kind }) => kind === 'McpServer')
    if (owner) queue.add(`${namespace}/${owner.name}`)
  })
  caches.configMaps.onChange((before, now) => {
    // A slice that still names its set was changed by the operator itself.
    const key = before && !(now && namesItsSet(now)) ? serverOfSlice(before) : undefined
    if (key !== undefined && !slices.isWhole(key)) rediscover(key)
  })
}
