/** A server's state for routers, from its status. Pure. */
import type { ServerObservation } from '../../core/catalog/resolve.ts'
import type { ServerState } from '../../core/catalog/router-config.ts'
import { CONDITION, type Condition, REASON } from '../../crds/conditions.ts'
import type { McpServer, McpServerStatus } from '../../crds/server.ts'
import { userProblems } from './instance-status.ts'
import { maySleep } from './scaling.ts'

const STARTING_REASONS: readonly string[] = [REASON.starting, REASON.updating]
/** By the reason of Ready: states that count even while instances are ready, and in which tools are hidden at once. */
const HIDDEN_STATES: Readonly<Record<string, ServerState>> = {
  [REASON.authRequired]: 'authRequired',
  [REASON.notAccepted]: 'notAccepted',
  [REASON.suspended]: 'suspended',
}

/** A server with a ready instance counts as ready: the previous revision serves while an update starts or fails. */
export function observedOf(server: McpServer): ServerObservation {
  const { status } = server
  const condition = status?.conditions?.find(({ type }) => type === CONDITION.ready)
  const state = stateOf(status, condition)
  const since = Date.parse(condition?.lastTransitionTime ?? '') || 0
  const problems = userProblems(server, WAKE_PROBLEMS)
  const optional = {
    ...(maySleep(server) && { sleep: sleepOf(condition) }),
    ...(problems && { userProblems: problems }),
  }
  if (state === 'ready' || state === 'asleep' || !condition) return { state, since, ...optional }
  // Further lines may contain output of the server's process.
  const [message = ''] = (causeOf(status, condition) ?? condition).message.split('\n')
  return { state, reason: condition.reason, message, since, ...optional }
}

/** Why a server cannot be woken, as agents read it: without details of nodes and images. */
const WAKE_PROBLEMS: Readonly<Record<string, string>> = {
  [REASON.unschedulable]: 'no node has room',
  [REASON.storagePending]: 'its storage is not available',
  [REASON.imagePullFailed]: 'its image cannot be pulled',
  [REASON.installFailed]: 'its package cannot be installed',
  [REASON.integrityChanged]: 'its package changed under the same version',
  [REASON.crashLooping]: 'it ends again and again',
  [REASON.oomKilled]: 'it runs out of memory',
  [REASON.podRejected]: 'the cluster does not allow its pod',
  [REASON.startTimeout]: 'it was not ready in time',
}

function sleepOf(condition: Condition | undefined): NonNullable<ServerObservation['sleep']> {
  const { status, reason = '' } = condition ?? {}
  const problem = status === 'False' ? WAKE_PROBLEMS[reason] : undefined
  return { asleep: reason === REASON.asleep, ...(problem !== undefined && { problem }) }
}

/** The condition to which Ready's message refers. */
function causeOf(status: McpServerStatus | undefined, { reason }: Condition): Condition | undefined {
  return status?.conditions?.find(
    ({ type, status, reason: other }) =>
      status === 'False' &&
      (type === CONDITION.accepted
        ? reason === REASON.notAccepted
        : type === CONDITION.toolsDiscovered && reason === other),
  )
}

function stateOf(status: McpServerStatus | undefined, condition: Condition | undefined): ServerState {
  if (condition?.reason === REASON.asleep || condition?.reason === REASON.waking) return 'asleep'
  if (condition?.status === 'True') return 'ready'
  const hidden = condition && HIDDEN_STATES[condition.reason]
  if (hidden) return hidden
  if ((status?.replicas?.ready ?? 0) > 0) return 'ready'
  if (!condition || condition.status === 'Unknown' || STARTING_REASONS.includes(condition.reason))
    return 'starting'
  return 'failed'
}
