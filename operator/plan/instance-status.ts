/** The part of a server's status about the pods of its users. Pure. */
import type { UserProblem } from '../../core/catalog/router-config.ts'
import { idOfUser } from '../../core/mcp/user.ts'
import { REASON } from '../../crds/conditions.ts'
import type { McpServer, McpServerStatus } from '../../crds/server.ts'
import { cutMessage, type Verdict } from './conditions.ts'
import type { InstancePlan } from './instance-objects.ts'
import type { ServerWorld } from './plan.ts'
import { rolloutTrouble } from './rollout.ts'

/** Usually all users have the same problem, so a few are enough. */
const MAX_PROBLEMS = 20
const MAX_MESSAGE_CHARACTERS = 512
/** Reasons that are no problem. */
const IN_PROGRESS: readonly string[] = [REASON.starting, REASON.updating]

/** Undefined for a server whose users have no pods, unless volumes that they had are hindered. */
export function usersStatus(world: ServerWorld, plan: InstancePlan | undefined): McpServerStatus['users'] {
  const hindered = new Map(world.hindered)
  if (!plan && hindered.size === 0) return undefined
  const { wanted = [], refused = [], revisions } = plan ?? {}
  const found = wanted.map(user => [idOfUser(user), troubleOf(world, user, revisions?.get(user))] as const)
  for (const [id] of found) hindered.delete(id)
  const full = refused.map(user => [idOfUser(user), FULL] as const)
  const problems = [...found, ...full, ...hindered]
    .flatMap(([user, trouble]) =>
      trouble && !IN_PROGRESS.includes(trouble.reason) ? [{ user, ...short(trouble) }] : [],
    )
    .slice(0, MAX_PROBLEMS)
  return {
    wanted: wanted.length,
    ready: found.filter(([, trouble]) => trouble === undefined).length,
    ...(problems.length > 0 && { problems }),
  }
}

const FULL: Verdict = {
  reason: REASON.tooManyUsers,
  message:
    'The maximum number of users (users.max) have a pod: raise users.max, or end a pod with portolan users --end',
}

/** Why the pod of a user is not ready; undefined if it is. */
function troubleOf(
  { users, hindered }: ServerWorld,
  user: string,
  revision: string | undefined,
): Verdict | undefined {
  const { deployment, pods = [] } = users?.instances.find(one => one.user === user) ?? {}
  return hindered?.get(idOfUser(user)) ?? rolloutTrouble({ deployment, pods, revision, wanted: 1 })
}

/** Without further lines, which are output of the process and may show the user's Secret. */
function short({ reason, message }: Verdict): Verdict {
  const [line = ''] = message.split('\n')
  return { reason, message: cutMessage(line, MAX_MESSAGE_CHARACTERS) }
}

/** The problems of users as routers report them to agents. `messages`: by reason. */
export function userProblems(
  { status }: McpServer,
  messages: Readonly<Record<string, string>>,
): Record<string, UserProblem> | undefined {
  const problems = status?.users?.problems ?? []
  if (problems.length === 0) return undefined
  const entries = problems.map(({ user, reason }): [string, UserProblem] => [
    user,
    {
      message: messages[reason] ?? 'it cannot be started',
      ...(reason === REASON.tooManyUsers && { isFull: true }),
    },
  ])
  return Object.fromEntries(entries)
}
