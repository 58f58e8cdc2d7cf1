/** The objects of each user's instance of a server: a Deployment of one pod, its Service, and the token of its bridge. Pure. */
import type { V1Deployment } from '@kubernetes/client-node'
import { hasInstances, instanceRevision } from '../../core/catalog/instances.ts'
import { BEARER_KEY, instanceName, serverObjectName } from '../../core/catalog/object-names.ts'
import type { Kube, KubeObject, ObjectRef } from '../../core/kube/object.ts'
import { idOfUser } from '../../core/mcp/user.ts'
import { parseDuration } from '../../crds/quantity.ts'
import type { McpServer } from '../../crds/server.ts'
import { DEFAULT_USERS } from '../../crds/users.ts'
import { deployment } from './deployment.ts'
import { ANNOTATION, labelsOf } from './names.ts'
import type { EnsuredSecret, ServerWorld, UsersWorld } from './plan.ts'
import { startTimeoutSeconds } from './probes.ts'
import { contentDigest, podInputs, type ReferenceIndex } from './references.ts'
import { type PodUser, serverTemplate } from './server-pods.ts'
import { instanceService } from './service.ts'
import { revisionOf } from './template.ts'
import { isIdTaken } from './user-claims.ts'
import { decideInstances, type Instances, type UserDemand } from './user-instances.ts'

export type InstancePlan = Instances & {
  objects: KubeObject[]
  secrets: EnsuredSecret[]
  untouched: ObjectRef[]
  /** By the digest of the user: revision of the planned pod. */
  revisions: ReadonlyMap<string, string | undefined>
}

const UNKNOWN_DEMAND: UserDemand = { isKnown: false, waiting: [], used: new Map() }
const NO_USERS: UsersWorld = { demand: UNKNOWN_DEMAND, usedAtMs: new Map(), instances: [], claims: [] }

/** Undefined for a server whose users have no pods. `isWaiting`: whether the server waits for its turn in an upgrade of the operator. */
export function planInstances(
  world: ServerWorld,
  references: ReferenceIndex,
  isWaiting: boolean,
): InstancePlan | undefined {
  const { server, users = NO_USERS } = world
  if (!hasInstances(server)) return undefined
  const instances = chooseInstances(world, references)
  const revisions = new Map<string, string | undefined>()
  const plan: InstancePlan = { ...instances, objects: [], secrets: [], untouched: [], revisions }
  for (const user of instances.wanted) {
    const current = users.instances.find(one => one.user === user)?.deployment
    const planned = instanceDeployment(world, references, user, current)
    const isUnchanged = isWaiting && current !== undefined
    plan.secrets.push(bearerOf(server, user))
    plan.objects.push(instanceService(server, idOfUser(user)), ...(isUnchanged ? [] : [planned]))
    if (isUnchanged) plan.untouched.push(refOfDeployment(current))
    revisions.set(user, revisionOf((isUnchanged ? current : planned).spec?.template ?? {}))
  }
  return plan
}

/** Which users have an instance now. */
function chooseInstances(world: ServerWorld, references: ReferenceIndex): Instances {
  const { server, users = NO_USERS, now } = world
  const { max, idleAfter } = server.spec.users ?? DEFAULT_USERS
  return decideInstances({
    max: server.spec.suspend ? 0 : max,
    idleAfterMs: parseDuration(idleAfter),
    existing: server.spec.suspend ? [] : users.instances.map(({ user }) => user),
    admits: user =>
      !isIdTaken(world, user) && (!needsSecret(server) || secretOf(users, references, user) !== undefined),
    demand: users.demand,
    usedAtMs: users.usedAtMs,
    now,
  })
}

function instanceDeployment(
  { server, settings, users = NO_USERS }: ServerWorld,
  references: ReferenceIndex,
  user: string,
  current: Kube<V1Deployment> | undefined,
): Kube<V1Deployment> {
  const { name, namespace } = server.metadata
  const id = idOfUser(user)
  const secret = needsSecret(server) ? secretOf(users, references, user) : undefined
  const pod: PodUser = { id, revision: instanceRevision(user, secret?.digest), ...(secret && { secret }) }
  const currentInputs = current?.spec?.template?.metadata?.annotations?.[ANNOTATION.inputs]
  // The annotation of a pod with a Secret is `<inputs>.<digest of the Secret>`.
  const inputs = podInputs(server, references, currentInputs?.split('.')[0])
  const template = serverTemplate(server, settings, secret ? `${inputs}.${secret.digest}` : inputs, pod)
  return deployment({
    isExclusive: server.spec.users?.volume !== undefined,
    name: instanceName(name, id),
    namespace,
    component: 'user',
    instance: name,
    user: id,
    replicas: 1,
    startSeconds: startTimeoutSeconds(server),
    annotations: { [ANNOTATION.user]: user },
    template,
  })
}

/** The Secret with the token that the bridge in the user's pod requires. */
function bearerOf({ metadata: { name, namespace = 'default' } }: McpServer, user: string): EnsuredSecret {
  const id = idOfUser(user)
  return {
    name: instanceName(name, id),
    namespace,
    labels: labelsOf('user', name, id),
    keys: [BEARER_KEY],
    instance: { user, of: serverObjectName(name) },
  }
}

function needsSecret({ spec }: McpServer): boolean {
  return spec.auth?.perUser?.secrets !== undefined
}

/** The name, keys and content digest of a user's Secret; undefined if it does not exist or has not been read yet. */
function secretOf(
  { secrets }: UsersWorld,
  references: ReferenceIndex,
  user: string,
): { name: string; keys: string[]; digest: string } | undefined {
  const name = secrets?.get(user)
  const found = name === undefined ? undefined : references.get(`Secret/${name}`)
  const digest = found?.exists ? contentDigest(found) : undefined
  if (name === undefined || !found || digest === undefined) return undefined
  return { name, keys: Object.keys(found.digests).sort(), digest }
}

function refOfDeployment({ metadata: { namespace, name } }: Kube<V1Deployment>): ObjectRef {
  return { apiVersion: 'apps/v1', kind: 'Deployment', namespace, name }
}
