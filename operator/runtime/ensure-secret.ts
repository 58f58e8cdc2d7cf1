/** Creates Secrets with random content, and restores missing keys. */
import { randomBytes } from 'node:crypto'
import type { V1Secret } from '@kubernetes/client-node'
import { BoundedMap } from '../../core/bounded-map.ts'
import { instanceBearer } from '../../core/catalog/instances.ts'
import { Fault } from '../../core/errors.ts'
import { canonicalJson } from '../../core/json.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import { type Kube, type KubeObject, type ObjectRef, refOf } from '../../core/kube/object.ts'
import { decodedData, encodedValue } from '../../core/kube/secret.ts'
import type { Log } from '../../core/log.ts'
import type { EnsuredSecret } from '../plan/plan.ts'
import type { Observed } from './apply.ts'
import type { OperatorMetrics } from './operator-metrics.ts'
import { isOwnedBy, ownedBy } from './owner-reference.ts'

const KEY_BYTES = 32
/** How many Secrets are remembered as complete; others are read again. */
const MAX_REMEMBERED = 20_000

type Secret = Kube<V1Secret>
/** `seen`: the metadata of the Secret in the cache, if any. */
type Wanted = Required<Pick<EnsuredSecret, 'keys' | 'values'>> & {
  object: KubeObject
  owner: KubeObject
  seen: KubeObject | undefined
  /** Identifies what the values are derived from, if they are secret. */
  source?: string
}

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
) => Promise<{
  taken: ObjectRef[]
  /** How many were written, without those of instances, on whose versions no plan depends. */
  written: number
}>

export function createSecretKeeper(options: SecretKeeperOptions): SecretKeeper {
  /** By uid: the resourceVersion at which a Secret was complete, and the values that it had. */
  const complete = new BoundedMap<string | undefined>(MAX_REMEMBERED)
  const stateOf = (resourceVersion: string | undefined, { values, source }: Wanted) =>
    `${resourceVersion} ${source ?? canonicalJson(values)}`
  const ensure = async (wanted: Wanted, signal: AbortSignal): Promise<'taken' | 'complete' | 'written'> => {
    const { object, owner, seen } = wanted
    const { uid = '', resourceVersion } = seen?.metadata ?? {}
    if (resourceVersion && complete.get(uid) === stateOf(resourceVersion, wanted)) return 'complete'
    const found = await options.client.get<Secret>(refOf(object), signal)
    if (found && !isOwnedBy(found, owner)) return 'taken'
    const isComplete = found && has(found, wanted)
    const { metadata } = isComplete ? found : await write(options, wanted, found, signal)
    complete.set(metadata.uid ?? '', stateOf(metadata.resourceVersion, wanted))
    return isComplete ? 'complete' : 'written'
  }
  /** For the Secret of an instance, adds the derived values, unless it is known to be complete; returns `wanted` for all others. */
  const withValues = async (
    secret: EnsuredSecret,
    wanted: Wanted,
    observed: Observed,
    signal: AbortSignal,
  ) => {
    const { instance, namespace } = secret
    if (!instance) return wanted
    const ref = { apiVersion: 'v1', kind: 'Secret', namespace, name: instance.of }
    const source = `${instance.user} ${observed(ref)?.metadata.resourceVersion}`
    const { uid = '', resourceVersion } = wanted.seen?.metadata ?? {}
    const known = { ...wanted, source }
    if (resourceVersion && complete.get(uid) === stateOf(resourceVersion, known)) return known
    return { ...known, keys: [], values: await instanceValues(options, secret, ref, signal) }
  }
  return async (owner, secrets, observed, signal) => {
    const result = { taken: [] as ObjectRef[], written: 0 }
    for (const secret of secrets) {
      const { keys, values = {}, instance: _, ...metadata } = secret
      const object = ownedBy({ apiVersion: 'v1', kind: 'Secret', metadata }, owner)
      const ref = refOf(object)
      const wanted = { object, owner, keys, values, seen: observed(ref) }
      const outcome = await ensure(await withValues(secret, wanted, observed, signal), signal)
      if (outcome === 'taken') result.taken.push(ref)
      if (outcome === 'written' && !secret.instance) result.written++
    }
    return result
  }
}

/** The values of an instance's Secret. They are derived from those of the server's Secret, so that routers can derive them too. */
async function instanceValues(
  { client }: SecretKeeperOptions,
  { keys, instance }: EnsuredSecret,
  ref: ObjectRef,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  const values = decodedData((await client.get<Secret>(ref, signal))?.data)
  return Object.fromEntries(
    keys.map(key => {
      const token = values[key] ?? ''
      if (token === '') throw new Fault('unavailable', `Secret ${ref.name} has no ${key} yet`)
      return [key, instanceBearer(token, instance?.user ?? '')]
    }),
  )
}

function has({ data = {} }: Secret, { keys, values }: Wanted): boolean {
  return (
    keys.every(key => data[key]) &&
    Object.entries(values).every(([key, value]) => data[key] === encodedValue(value))
  )
}

/** Writes the Secret with random values for missing keys. `found` is the existing Secret, whose other keys stay. */
async function write(
  { client, log, metrics, fieldManager }: SecretKeeperOptions,
  { object, keys, values }: Wanted,
  found: Secret | undefined,
  signal: AbortSignal,
): Promise<Secret> {
  const known = Object.entries(values).map(([key, value]) => [key, encodedValue(value)] as const)
  const random = keys.map(key => [key, found?.data?.[key] || randomValue()] as const)
  const data = Object.fromEntries([...random, ...known])
  // With the uid, or without force if none was found, it is a conflict if another client created the Secret meanwhile.
  const metadata = { ...object.metadata, ...(found ? { uid: found.metadata.uid } : {}) }
  const secret: Secret = { ...object, metadata, type: 'Opaque', data }
  const stored = await client.apply(secret, { fieldManager, force: Boolean(found) }, signal)
  metrics.wrote('Secret', found ? 'apply' : 'create')
  const { namespace, name } = refOf(object)
  log.info({ namespace, name, made: !found }, 'secret written')
  return stored
}

/** Random bytes as base64url, encoded once more as Secrets require it in `data`. */
function randomValue(): string {
  return encodedValue(randomBytes(KEY_BYTES).toString('base64url'))
}
