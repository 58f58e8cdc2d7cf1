/** A server's state for routers, from its status. Pure. */
import type { ServerObservation } from '../../core/catalog/resolve.ts'
import type { ServerState } from '../../core/catalog/router-config.ts'
import { CONDITION, type Condition, REASON } from '../../crds/conditions.ts'
import type { McpServer, McpServerStatus } from '../../crds/server.ts'

const STARTING: readonly string[] = [REASON.starting, REASON.updating]
const HIDDEN: Readonly<Record<string, ServerState>> = {
  [REASON.authRequired]: 'authRequired',
  [REASON.notAccepted]: 'notAccepted',
  [REASON.suspended]: 'suspended',
}

/** A server with a ready instance counts as ready: the previous revision serves while an update starts or fails. */
export function observedOf({ status }: McpServer): ServerObservation {
  const condition = status?.conditions?.find(({ type }) => type === CONDITION.ready)
  const state = stateOf(status, condition)
  const since = Date.parse(condition?.lastTransitionTime ?? '') || 0
  if (state === 'ready' || !condition) return { state, since }
  // Further lines may contain output of the server's process.
  const [message = ''] = condition.message.split('\n')
  return { state, reason: condition.reason, message, since }
}

function stateOf(status: McpServerStatus | undefined, condition: Condition | undefined): ServerState {
  if (condition?.status === 'True') return 'ready'
  const hidden = condition && HIDDEN[condition.reason]
  if (hidden) return hidden
  if ((status?.replicas?.ready ?? 0) > 0) return 'ready'
  if (!condition || condition.status === 'Unknown' || STARTING.includes(condition.reason)) return 'starting'
  return 'failed'
}
