/** Lists the users of a cluster's servers, from its routers and from the Deployments of users; ends a user's sessions and pod. */
import type { V1Deployment } from '@kubernetes/client-node'
import { instanceName } from '../core/catalog/object-names.ts'
import type { Kube } from '../core/kube/object.ts'
import { LABEL, USER_LABEL } from '../operator/plan/names.ts'
import { USERS_PATH } from '../router/http/users-page.ts'
import type { UserStatus } from '../router/upstream/user-members.ts'
import type { UsersOfServer } from './live-gateway.ts'
import type { Terminal } from './output.ts'
import {
  deleteAtRouters,
  expectAllAnswered,
  listedByRouters,
  type Place,
  placeIn,
} from './routers-in-cluster.ts'

/** The subject of a user whose pod no router uses. Only the user's id is known. */
const UNKNOWN_SUBJECT = '?'

export type ClusterUsers = {
  users(): Promise<UsersOfServer[]>
  /** Resolves with false if the user had neither a session nor a pod. Throws a CommandError if a router did not answer. */
  endUser(server: string, user: string): Promise<boolean>
  close(): Promise<void>
}

/** Throws a CommandError if there is no usable kubeconfig. */
export async function usersInCluster(
  options: { namespace?: string; context?: string },
  terminal: Terminal,
): Promise<ClusterUsers> {
  const place = await placeIn(options, terminal)
  const { client } = place
  return {
    async users() {
      const listing = listedByRouters<UsersOfServer>(place, USERS_PATH, 'its users')
      const [reported, instances] = await Promise.all([listing, instancesIn(place)])
      return merged([...reported, ...instances])
    },
    async endUser(server, user) {
      const wasAtRouters = await deleteAtRouters(place, USERS_PATH, server, user)
      const ref = {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        namespace: place.namespace,
        name: instanceName(server, user),
      }
      const hadPod = await client.delete(ref)
      const isEnded = hadPod || wasAtRouters
      expectAllAnswered(place, isEnded ? 1 : 0)
      return isEnded
    },
    close: () => client.close(),
  }
}

/** Each pod of a user, by its Deployment, in the form in which routers report users. */
async function instancesIn({ client, namespace }: Place): Promise<UsersOfServer[]> {
  const { items } = await client.list<Kube<V1Deployment>>({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    namespace,
    labelSelector: USER_LABEL,
  })
  return items.map(({ metadata: { labels = {}, creationTimestamp } }) => {
    const sinceMs = Date.parse(String(creationTimestamp))
    const user = {
      user: labels[USER_LABEL] ?? '',
      subject: UNKNOWN_SUBJECT,
      sinceMs,
      usedMs: sinceMs,
      active: 0,
    }
    return { server: labels[LABEL.instance] ?? '', users: [{ ...user, breaker: 'closed' as const }] }
  })
}

/** Combines the reports of several routers: one entry for each user of a server. Pure. */
export function merged(all: readonly UsersOfServer[]): UsersOfServer[] {
  const servers = Map.groupBy(all, ({ server }) => server)
  return [...servers]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([server, reports]) => {
      const users = Map.groupBy(
        reports.flatMap(({ users }) => users),
        ({ user }) => user,
      )
      return { server, users: [...users.values()].map(asOne) }
    })
}

/** Combines the reports about one user. What routers report counts more than what is known of the pod. */
function asOne(reports: readonly UserStatus[]): UserStatus {
  const fromRouters = reports.filter(({ subject }) => subject !== UNKNOWN_SUBJECT)
  const [first] = fromRouters.length > 0 ? fromRouters : reports
  const best = fromRouters.length > 0 ? fromRouters : reports
  return {
    ...(first as UserStatus),
    sinceMs: Math.min(...reports.map(({ sinceMs }) => sinceMs)),
    usedMs: Math.max(...best.map(({ usedMs }) => usedMs)),
    active: best.reduce((sum, { active }) => sum + active, 0),
    breaker: best.some(({ breaker }) => breaker !== 'closed') ? 'open' : 'closed',
  }
}
