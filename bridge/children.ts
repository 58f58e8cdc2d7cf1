/** The children of a bridge as the rest of it sees them, whether all callers share one or each session has its own. */
import type { Clock } from '../core/async.ts'
import { Fault } from '../core/errors.ts'
import type { SessionSpec } from '../core/mcp/client/stdio/child-session.ts'
import type { EraMemory } from '../core/mcp/client/stdio/opening.ts'
import { createRestartBackoff } from '../core/mcp/client/stdio/restart-backoff.ts'
import type { StdioLog } from '../core/mcp/client/stdio/stdio-rpc.ts'
import { type Failure, SupervisedChild } from '../core/mcp/client/stdio/supervised-child.ts'
import type { McpResponse, Notification, ServerRequest } from '../core/mcp/protocol/json-rpc.ts'
import type { Clients } from '../core/mcp/server/clients.ts'
import type { Listeners } from '../core/mcp/server/listeners.ts'
import type { Sessions } from '../core/mcp/server/session-ids.ts'
import type { Subscription, UpstreamCall, UpstreamInfo } from '../core/mcp/upstream.ts'

export interface Children {
  readonly sessions: Sessions
  /** What a child said at the last handshake; undefined before the first. */
  readonly info: UpstreamInfo | undefined
  /** Whether a child is up. */
  readonly ready: boolean
  /** Throws the Faults of Upstream.request. */
  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse>
  /** As Upstream.subscribe. */
  subscribe(subscription: Subscription, signal: AbortSignal): Promise<McpResponse>
  /** Hands a child what its client says besides requests. */
  tell(client: string, notification: Notification): void
  /** Ends all children, and what they have in flight. */
  close(): Promise<void>
}

export type ChildrenDeps = {
  clock: Clock
  log: StdioLog
  /** 0 to 1, spreads restarts; default Math.random. */
  random?: () => number
  /** Who hears that a list has changed. */
  listeners: Listeners
  /** What a child says to its own client, and asks it, between calls. */
  clients: Clients & {
    end(client: string): void
    /** Whether the client listens. */
    listens(client: string): boolean
  }
  /** No child comes up: further tries are left to whoever started this process. */
  onHopeless(failure: Failure): void
}

/** So many failures in a row: starts that failed, and children that ended before they were up for a minute. */
export const MAX_FAILURES = 3

type Hooks = {
  onState(life: SupervisedChild): void
  onListChanged(notification: Notification, life: SupervisedChild): void
  onNotification?(notification: Notification, life: SupervisedChild): void
  onRequest?(
    request: ServerRequest,
    signal: AbortSignal,
    life: SupervisedChild,
  ): Promise<McpResponse> | undefined
  onHopeless(failure: Failure, life: SupervisedChild): void
}

/** A child that is started at once, does not sleep, and is started again where it ends by itself. */
export function begin(
  spec: SessionSpec,
  memory: EraMemory,
  deps: Pick<ChildrenDeps, 'clock' | 'log' | 'random'>,
  hooks: Hooks,
): SupervisedChild {
  const { clock, log, random = Math.random } = deps
  const life: SupervisedChild = new SupervisedChild(
    { ...spec, idleAfterMs: undefined, revive: true },
    {
      clock,
      log,
      memory,
      random,
      backoff: createRestartBackoff(random),
      onState: () => hooks.onState(life),
      onListChanged: list => hooks.onListChanged({ method: `notifications/${list}/list_changed` }, life),
      onNotification: notification => hooks.onNotification?.(notification, life),
      onRequest: (request, signal) => hooks.onRequest?.(request, signal, life),
      onFailure(failure, failures) {
        log.warn({ reason: failure.reason, failures }, failure.message)
        if (failures >= MAX_FAILURES) hooks.onHopeless(failure, life)
      },
    },
  )
  life.connect(new AbortController().signal).catch(() => {})
  return life
}

/** For a session that finds no place beside `sessions` others. */
export function allInUse(sessions: number, idleAfterMs: number): Fault {
  const minutes = (idleAfterMs / 60_000).toFixed(1).replace('.0', '')
  const message =
    `All ${sessions} sessions of the server are in use; one becomes free when its client ends it, ` +
    `or after ${minutes} min without a call`
  return new Fault('upstream_busy', message, { retryable: true, details: { sessions } })
}
