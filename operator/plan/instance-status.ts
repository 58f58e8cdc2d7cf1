/** The part of a server's status about the pods of its users. Pure. */
import type { UserTrouble } from '../../core/catalog/router-config.ts'
import { idOfUser } from '../../core/mcp/user.ts'
import { REASON } from '../../crds/conditions.ts'
import type { McpServer, McpServerStatus } from '../../crds/server.ts'
import type { Verdict } from './conditions.ts'
import type { InstancePlan } from './instance-objects.ts'
import type { ServerWorld } from './plan.ts'
import { rolloutTrouble } from './rollout.ts'

/** Usually all users have the same problem, so a few are enough. */
export const MAX_TROUBLES = 20
const MAX_MESSAGE = 512
const IN_PROGRESS: readonly string[] = [REASON.starting, REASON.updating]

export function usersStatus(world: ServerWorld, plan: InstancePlan | undefined): McpServerStatus['users'] {
  if (!plan) return undefined
  const found = plan.wanted.map(user => [user, troubleOf(world, plan, user)] as const)
  const full = plan.refused.map(user => [user, FULL] as const)
  const troubles = [...found, ...full]
    .flatMap(([user, trouble]) =>
      trouble && !IN_PROGRESS.includes(trouble.reason) ? [{ user: idOfUser(user), ...trouble }] : [],
    )
    .slice(0, MAX_TROUBLES)
  return {
    wanted: plan.wanted.length,
    ready: found.filter(([, trouble]) => trouble === undefined).length,
    ...(troubles.length > 0 && { troubles }),
  }
}

const FULL: Verdict = {
  reason: REASON.tooManyUsers,
  message: 'There are as many users as users.max: raise it, or end what one has (portolan users)',
}

/** Undefined if the pod of the user is ready. */
function troubleOf({ users }: ServerWorld, plan: InstancePlan, user: string): Verdict | undefined {
  const { deployment, pods = [] } = users?.instances.find(one => one.user === user) ?? {}
  const trouble = rolloutTrouble({ deployment, pods, revision: plan.revisions.get(user), wanted: 1 })
  if (!trouble) return undefined
  // Further lines are output of the process, which may show the user's Secret.
  const [message = ''] = trouble.message.split('\n')
  return { reason: trouble.reason, message: message.slice(0, MAX_MESSAGE) }
}

/** The troubles for routers; `problems` has the sentences for agents, by reason. */
export function userTroubles(
  { status }: McpServer,
  problems: Readonly<Record<string, string>>,
): Record<string, UserTrouble> | undefined {
  const troubles = status?.users?.troubles ?? []
  if (troubles.length === 0) return undefined
  const entries = troubles.map(({ user, reason }): [string, UserTrouble] => [
    user,
    {
      problem: problems[reason] ?? 'it cannot be started',
      ...(reason === REASON.tooManyUsers && { isFull: true }),
    },
  ])
  return Object.fromEntries(entries)
}
