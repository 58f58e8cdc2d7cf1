/** Creates Secrets with random content, and restores missing keys. */
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
/** Secrets that are remembered to be complete; others are read again. */
const MAX_REMEMBERED = 20_000

type Secret = Kube<V1Secret>
/** `seen`: its metadata, if it is cached. */
type Wanted = { object: KubeObject; owner: KubeObject; keys: readonly string[]; seen: KubeObject | undefined }

export type SecretKeeperOptions = {
  client: Pick<KubeClient, 'get' | 'apply'>
  log: Log
  metrics: OperatorMetrics
  fieldManager: string
}

/**
 * Creates missing Secrets for `owner` and gives each missing key a random value, so that deleting a key rotates it. Resolves with
 * the existing Secrets of other owners, which are never changed.
 */
export type SecretKeeper = (
  owner: KubeObject,
  secrets: readonly EnsuredSecret[],
  observed: Observed,
  signal: AbortSignal,
) => Promise<{ taken: ObjectRef[]; written: number }>

export function createSecretKeeper(options: SecretKeeperOptions): SecretKeeper {
  /** By uid: the resourceVersion at which a Secret had all its keys. */
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

/** Gives missing keys a value; `found` is the existing Secret, whose other keys stay. */
async function write(
  { client, log, metrics, fieldManager }: SecretKeeperOptions,
  { object, keys }: Wanted,
  found: Secret | undefined,
  signal: AbortSignal,
): Promise<Secret> {
  const data = Object.fromEntries(keys.map(key => [key, found?.data?.[key] || randomValue()]))
  // The uid, or no force if none was found, makes it a conflict if another client created the Secret meanwhile.
  const metadata = { ...object.metadata, ...(found ? { uid: found.metadata.uid } : {}) }
  const secret: Secret = { ...object, metadata, type: 'Opaque', data }
  const now = await client.apply(secret, { fieldManager, force: Boolean(found) }, signal)
  metrics.wrote('Secret', found ? 'apply' : 'create')
  const { namespace, name } = refOf(object)
  log.info({ namespace, name, made: !found }, 'secret written')
  return now
}

/** The `data` value of a text that is base64url of random bytes. */
function randomValue(): string {
  return Buffer.from(randomBytes(KEY_BYTES).toString('base64url')).toString('base64')
}
