/** Writes logins of users, which routers have encrypted, into Secrets of their server. */
import type { V1Secret } from '@kubernetes/client-node'
import { isDeletedLogin, newerLogin, timeOfLogin } from '../../core/catalog/login-records.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import { type Kube, type KubeObject, refOf } from '../../core/kube/object.ts'
import { decodedData, encodedValue } from '../../core/kube/secret.ts'
import type { Log } from '../../core/log.ts'
import { labelsOf } from '../plan/names.ts'
import type { OperatorMetrics } from './operator-metrics.ts'
import { isOwnedBy, ownedBy } from './owner-reference.ts'

export type LoginKeeperOptions = {
  client: Pick<KubeClient, 'get' | 'apply'>
  log: Log
  metrics: OperatorMetrics
}

/**
 * Writes logins into the Secret `name` of the server. `values`: encrypted logins by id, of which only those are written that are newer than in the
 * Secret. Throws ApiError, a conflict if the Secret was changed meanwhile.
 */
export type LoginKeeper = (
  server: KubeObject,
  name: string,
  values: ReadonlyMap<string, string>,
  signal: AbortSignal,
) => Promise<void>

const MANAGER = 'portolan-logins'
/** How long the record of a deleted login is kept, so that a late report of a router does not restore the login. */
const DELETED_MS = 24 * 60 * 60_000
/** Kubernetes limits a Secret to 1 MiB. The logins whose last renewal is longest ago are dropped first. */
const MAX_BYTES = 900_000

export function createLoginKeeper({ client, log, metrics }: LoginKeeperOptions): LoginKeeper {
  return async (server, name, values, signal) => {
    const metadata = { name, labels: labelsOf('logins', server.metadata.name) }
    const object = ownedBy<KubeObject>({ apiVersion: 'v1', kind: 'Secret', metadata }, server)
    const found = await client.get<Kube<V1Secret>>(refOf(object), signal)
    const { namespace } = object.metadata
    if (found && !isOwnedBy(found, server))
      return log.warn({ namespace, name }, 'logins were not written: the Secret has another owner')
    const merged = mergedLogins(new Map(Object.entries(decodedData(found?.data))), values)
    if (!merged) return
    const { uid, resourceVersion } = found?.metadata ?? {}
    const data = Object.fromEntries([...merged].map(([id, value]) => [id, encodedValue(value)]))
    const secret = { ...object, metadata: { ...object.metadata, uid, resourceVersion }, type: 'Opaque', data }
    await client.apply(secret, { fieldManager: MANAGER, force: Boolean(found) }, signal)
    metrics.wrote('Secret', found ? 'apply' : 'create')
  }
}

/** The known logins with newer ones; undefined if nothing changes. Pure. */
export function mergedLogins(
  known: ReadonlyMap<string, string>,
  values: ReadonlyMap<string, string>,
): Map<string, string> | undefined {
  const newer = [...values].filter(([id, value]) => newerLogin(known.get(id), value) !== known.get(id))
  if (newer.length === 0) return undefined
  const merged = new Map([...known, ...newer])
  const latestMs = Math.max(...[...merged.values()].map(timeOfLogin))
  const alive = [...merged].filter(
    ([, value]) => !isDeletedLogin(value) || latestMs - timeOfLogin(value) < DELETED_MS,
  )
  const kept = within(MAX_BYTES, alive)
  const isChanged = kept.length !== known.size || kept.some(([id, value]) => known.get(id) !== value)
  return isChanged ? new Map(kept.sort(([a], [b]) => (a < b ? -1 : 1))) : undefined
}

/** The newest entries that fit into this number of bytes. */
function within(bytes: number, entries: readonly [string, string][]): [string, string][] {
  let left = bytes
  return entries
    .toSorted(([, a], [, b]) => timeOfLogin(b) - timeOfLogin(a))
    .filter(([id, value]) => {
      left -= id.length + value.length
      return left >= 0
    })
}
