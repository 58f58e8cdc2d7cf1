/** The first lists of the caches: the operator starts without namespaces in which the API server refuses them, and changes nothing there. */
import { type Clock, delay } from '../../core/async.ts'
import { waitFor } from '../../core/deadline.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import type { Log } from '../../core/log.ts'
import type { Namespaces, WatchedCache } from './cache.ts'
import type { Controller } from './controller.ts'

/** Rights of a new installation may arrive a little later. */
const REFUSED_MS = 30_000
const LOOK_MS = 5_000
/** How often an object is looked at again whose namespace is not listed. */
const UNLISTED_RETRY_MS = 5_000

type Lists = readonly Pick<WatchedCache<KubeObject>, 'synced' | 'unlisted'>[]
type Options = { namespaces: Namespaces; clock: Clock; log: Log }

/**
 * Resolves when everything was listed, or once all that is missing has been refused for a while and at least one namespace is complete; with
 * the namespaces that are missing. Rejects if `signal` aborts before.
 */
export async function waitForLists(
  lists: Lists,
  options: Options,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const all = waitFor(Promise.all(lists.map(({ synced }) => synced)), signal).then(() => new Set<string>())
  for (;;) {
    const turn = new AbortController()
    const look = delay(options.clock, LOOK_MS, turn.signal).then(() => refusedOf(lists, options))
    const missing = await Promise.race([all, look]).finally(() => turn.abort())
    if (!missing) continue
    if (missing.size > 0)
      options.log.warn(
        { namespaces: [...missing] },
        'namespaces are not served until the API server allows listing their objects: create them and upgrade the chart, or take them out of watchNamespaces',
      )
    return missing
  }
}

function refusedOf(lists: Lists, { namespaces, clock }: Options): ReadonlySet<string> | undefined {
  if (namespaces === 'all') return undefined
  const unlisted = lists.flatMap(list => list.unlisted)
  const missing = new Set(unlisted.map(({ namespace }) => namespace))
  const areRefused = unlisted.every(
    ({ refusal }) => refusal !== undefined && clock.elapsed() - refusal.since >= REFUSED_MS,
  )
  return areRefused && namespaces.some(namespace => !missing.has(namespace)) ? missing : undefined
}

/** Wraps a controller so that it skips objects in namespaces that are not fully listed: what the caches lack there may exist. */
export function inListedNamespaces(
  controller: Controller,
  caches: { isListed(namespace: string): boolean },
): Controller {
  return {
    ...controller,
    async reconcile(key, signal) {
      const [namespace = '', name] = key.split('/')
      if (name !== undefined && !caches.isListed(namespace)) return { afterMs: UNLISTED_RETRY_MS }
      return controller.reconcile(key, signal)
    },
  }
}
