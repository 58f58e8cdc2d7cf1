/** Makes Secrets with random content once, and mends what was taken out of them. */
import { randomBytes } from 'node:crypto'
import type { V1Secret } from '@kubernetes/client-node'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import { type Kube, type KubeObject, type ObjectRef, refOf } from '../../core/kube/object.ts'
import type { Log } from '../../core/log.ts'
import type { EnsuredSecret } from '../plan/plan.ts'
import type { Observed } from './apply.ts'
import type { OperatorMetrics } from './operator-metrics.ts'
import { isOwnedBy, ownedBy } from './owner-reference.ts'

const KEY_BYTES = 32
/** Secrets that are known to be whole; the others are read once more. */
const MAX_REMEMBERED = 20_000

type Secret = Kube<V1Secret>
/** `seen`: its metadata, where a cache knows it. */
type Wanted = { object: KubeObject; owner: KubeObject; keys: readonly string[]; seen: KubeObject | undefined }

export type SecretKeeperOptions = {
  client: Pick<KubeClient, 'get' | 'apply'>
  log: Log
  metrics: OperatorMetrics
  fieldManager: string
}

/**
 * Makes the Secrets that are not there, for `owner`, and gives each key that is absent a random value: who deletes a key wants a new
 * one. Resolves with those that stand there and are not the owner's; they are never touched.
 */
export type SecretKeeper = (
  owner: KubeObject,
  secrets: readonly EnsuredSecret[],
  observed: Observed,
  signal: AbortSignal,
) => Promise<{ taken: ObjectRef[]; written: number }>

export function createSecretKeeper(options: SecretKeeperOptions): SecretKeeper {
  /** By uid, the resourceVersion in which a Secret had all its keys. */
  const whole = new BoundedMap<string | undefined>(MAX_REMEMBERED)
  const ensure = async (wanted: Wanted, signal: AbortSignal): Promise<'taken' | 'whole' | 'written'> => {
    const { object, owner, keys, seen } = wanted
    const { uid = '', resourceVersion } = seen?.metadata ?? {}
    if (resourceVersion && whole.get(uid) === resourceVersion) return 'whole'
    const found = await options.client.get<Secret>(refOf(object), signal)
    if (found && !isOwnedBy(found, owner)) return 'taken'
    const isWhole = found && keys.every(key => found.data?.[key])
    const { metadata } = isWhole ? found : await write(options, wanted, found, signal)
    whole.set(metadata.uid ?? '', metadata.resourceVersion)
    return isWhole ? 'whole' : 'written'
  }
  return async (owner, secrets, observed, signal) => {
    const result = { taken: [] as ObjectRef[], written: 0 }
    for (const { keys, ...metadata } of secrets) {
      const object = ownedBy({ apiVersion: 'v1', kind: 'Secret', metadata }, owner)
      const ref = refOf(object)
      const outcome = await ensure({ object, owner, keys, seen: observed(ref) }, signal)
      if (outcome === 'taken') result.taken.push(ref)
      if (outcome === 'written') result.written++
    }
    return result
  }
}

/** Gives the keys that are absent a value; `found` is the Secret as it is, with the others. */
async function write(
  { client, log, metrics, fieldManager }: SecretKeeperOptions,
  { object, keys }: Wanted,
  found: Secret | undefined,
  signal: AbortSignal,
): Promise<Secret> {
  const data = Object.fromEntries(keys.map(key => [key, found?.data?.[key] || randomValue()]))
  // with the uid it is no other one that was made meanwhile; without force none that was made since we found none
  const metadata = { ...object.metadata, ...(found ? { uid: found.metadata.uid } : {}) }
  const secret: Secret = { ...object, metadata, type: 'Opaque', data }
  const now = await client.apply(secret, { fieldManager, force: Boolean(found) }, signal)
  metrics.wrote('Secret', found ? 'apply' : 'create')
  const { namespace, name } = refOf(object)
  log.info({ namespace, name, made: !found }, 'secret written')
  return now
}

/** As it stands in a Secret: base64 of the text, which is base64url of random bytes. */
function randomValue(): string {
  return Buffer.from(randomBytes(KEY_BYTES).toString('base64url')).toString('base64')
}
