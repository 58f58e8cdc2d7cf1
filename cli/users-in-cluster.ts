/** Lists the users of a cluster's servers: as its routers report them, and pods that no router uses. Ends a user's sessions and pod. */
import type { V1Deployment } from '@kubernetes/client-node'
import { instanceName } from '../core/catalog/object-names.ts'
import type { Kube } from '../core/kube/object.ts'
import { LABEL, USER_LABEL } from '../operator/plan/names.ts'
import { USERS_PATH } from '../router/http/users-page.ts'
import type { UserStatus } from '../router/upstream/user-members.ts'
import type { UsersOfServer } from './live-gateway.ts'
import { deleteAtRouters, listedByRouters, type Place, placeIn } from './routers-in-cluster.ts'

/** The user of a pod that no router uses. Only the user's id is known. */
const UNKNOWN_SUBJECT = '?'

export type ClusterUsers = {
  users(): Promise<UsersOfServer[]>
  /** False: there was nothing. */
  endUser(server: string, user: string): Promise<boolean>
  close(): Promise<void>
}

/** Throws CommandError if no cluster is named. */
export async function usersInCluster(options: {
  namespace?: string
  context?: string
}): Promise<ClusterUsers> {
  const place = await placeIn(options)
  const { client } = place
  return {
    async users() {
      const listing = listedByRouters<UsersOfServer>(place, USERS_PATH, 'their users')
      const [said, instances] = await Promise.all([listing, instancesIn(place)])
      return merged([...said, ...instances])
    },
    async endUser(server, user) {
      const wasAtRouters = await deleteAtRouters(place, USERS_PATH, server, user)
      const ref = {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        namespace: place.namespace,
        name: instanceName(server, user),
      }
      const pod = await client.delete(ref)
      return pod || wasAtRouters
    },
    close: () => client.close(),
  }
}

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
    .map(([server, said]) => {
      const users = Map.groupBy(
        said.flatMap(({ users }) => users),
        ({ user }) => user,
      )
      return { server, users: [...users.values()].map(asOne) }
    })
}

function asOne(said: readonly UserStatus[]): UserStatus {
  const known = said.filter(({ subject }) => subject !== UNKNOWN_SUBJECT)
  const [first] = known.length > 0 ? known : said
  const of = known.length > 0 ? known : said
  return {
    ...(first as UserStatus),
    sinceMs: Math.min(...said.map(({ sinceMs }) => sinceMs)),
    usedMs: Math.max(...of.map(({ usedMs }) => usedMs)),
    active: of.reduce((sum, { active }) => sum + active, 0),
    breaker: of.some(({ breaker }) => breaker !== 'closed') ? 'open' : 'closed',
  }
}
