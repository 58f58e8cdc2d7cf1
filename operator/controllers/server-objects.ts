/** Writes the objects of a server: those of no user first, then those of each user. What keeps out those of one user keeps nothing from the others. */
import { isDenied } from '../../core/kube/api-error.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { deniedVerdict, refusedProblem, takenProblem, type Verdict } from '../plan/conditions.ts'
import { USER_LABEL } from '../plan/names.ts'
import type { ServerPlan, ServerWorld } from '../plan/plan.ts'
import { isRefusal } from '../runtime/apply.ts'
import type { Manifest } from '../runtime/caches.ts'
import type { Obstacle, Writers } from './writers.ts'

type Group = Pick<ServerPlan, 'objects' | 'secrets'>
/** Empty if everything was written. */
export type Hindrance = Partial<Obstacle> & Pick<ServerWorld, 'hindered'>
type ServerWriters = Pick<Writers<unknown>, 'ensureSecrets' | 'apply'>

/** The objects of a plan that belong to no user, and by their ids those of users. */
function byUser({ objects, secrets }: Group): { shared: Group; ofUsers: Map<string, Group> } {
  const objectsOf = Map.groupBy(objects, ({ metadata }) => metadata.labels?.[USER_LABEL] ?? '')
  const secretsOf = Map.groupBy(secrets, ({ labels }) => labels[USER_LABEL] ?? '')
  const groups = new Map(
    ['', ...objectsOf.keys(), ...secretsOf.keys()].map(id => [
      id,
      { objects: objectsOf.get(id) ?? [], secrets: secretsOf.get(id) ?? [] },
    ]),
  )
  const shared = groups.get('') as Group
  groups.delete('')
  return { shared, ofUsers: groups }
}

export function isOfUser({ metadata }: KubeObject): boolean {
  return metadata.labels?.[USER_LABEL] !== undefined
}

/** Resolves with what kept out some of the objects, or undefined if a Secret was written on whose version the plan depends. */
export async function writeObjects(
  writers: ServerWriters,
  owner: Manifest,
  plan: Group,
  signal: AbortSignal,
): Promise<Hindrance | undefined> {
  const { shared, ofUsers } = byUser(plan)
  const secrets = await writers.ensureSecrets(owner, shared, signal)
  if (secrets.written > 0) return undefined
  const obstacle = await writers.apply(owner, shared, secrets, signal)
  if (obstacle) return obstacle
  const hindered = new Map<string, Verdict>()
  for (const [id, group] of ofUsers) {
    const verdict = await writeUser(writers, owner, group, signal)
    if (verdict) hindered.set(id, verdict)
  }
  return hindered.size > 0 ? { hindered } : {}
}

async function writeUser(
  writers: ServerWriters,
  owner: Manifest,
  group: Group,
  signal: AbortSignal,
): Promise<Verdict | undefined> {
  try {
    const secrets = await writers.ensureSecrets(owner, group, signal)
    const { taken: [taken] = [], refused } = (await writers.apply(owner, group, secrets, signal)) ?? {}
    if (taken) return takenProblem(taken)
    return refused === undefined ? undefined : refusedProblem(refused, {})
  } catch (error) {
    if (!isDenied(error) && !isRefusal(error)) throw error
    return deniedVerdict(error.message)
  }
}
