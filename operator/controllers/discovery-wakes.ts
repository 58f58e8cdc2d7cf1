/** What makes discovery look at a server: its target, the wish of a person, its pods, and slices that are gone. */
import { keyOf } from '../../core/kube/object.ts'
import { refreshOf } from '../../crds/object-meta.ts'
import type { Queue } from '../runtime/queue.ts'
import type { DiscoveryOptions } from './discovery-controller.ts'
import { namesItsSet, serverOfSlice } from './slice-sets.ts'

/** `again`: what stands of the list of a server is not to be relied on. */
export function wakeOnChanges(
  {
    caches,
    targets,
    slices,
    publisher,
  }: Pick<DiscoveryOptions, 'caches' | 'targets' | 'slices' | 'publisher'>,
  queue: Queue,
  again: (key: string) => void,
): void {
  targets.onChange(key => queue.add(key))
  caches.servers.onChange((before, now) => {
    if (before && before.metadata.uid !== now?.metadata.uid) publisher.forget(before.metadata.uid)
    if (now && refreshOf(before) !== refreshOf(now)) queue.add(keyOf(now))
  })
  caches.deployments.onChange((before, now) => {
    const { namespace, ownerReferences } = (now ?? before)?.metadata ?? {}
    const owner = ownerReferences?.find(({ kind }) => kind === 'McpServer')
    if (owner) queue.add(`${namespace}/${owner.name}`)
  })
  caches.configMaps.onChange((before, now) => {
    // One that names another set now was written by us.
    const key = before && !(now && namesItsSet(now)) ? serverOfSlice(before) : undefined
    if (key !== undefined && !slices.isWhole(key)) again(key)
  })
}
