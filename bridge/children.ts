/** The interface of a bridge's children: one shared by all callers, or one for each session. */
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
import type { Running } from './metrics.ts'

export interface Children {
  readonly sessions: Sessions
  /** The result of the last handshake; undefined before the first. */
  readonly info: UpstreamInfo | undefined
  /** Whether a child is ready. */
  readonly ready: boolean
  /** Current numbers of sessions and processes, for metrics. */
  readonly running: Running
  /** Throws the Faults of Upstream.request. */
  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse>
  /** As Upstream.subscribe. */
  subscribe(subscription: Subscription, signal: AbortSignal): Promise<McpResponse>
  /** Forwards a notification of a client to its child. */
  tell(client: string, notification: Notification): void
  /** Ends all children and their calls. */
  close(): Promise<void>
}

export type ChildrenDeps = {
  clock: Clock
  log: StdioLog
  /** Returns 0 to 1, for the jitter of restarts; default Math.random. */
  random?: () => number
  /** The clients that listen for changed lists. */
  listeners: Listeners
  /** For notifications and questions of a child to its own client between calls. */
  clients: Clients & {
    end(client: string): void
    /** Whether the client has an open stream. */
    listens(client: string): boolean
  }
  /** Called when a child exited by itself or did not start. */
  onFailure?(reason: string): void
  /** Called when children have repeatedly failed to start: the process should exit, so that the kubelet restarts it. */
  onGiveUp(failure: Failure): void
}

/** Consecutive failures before giving up: failed starts, and children that exited within a minute. */
export const MAX_FAILURES = 3

type Hooks = {
  onState(child: SupervisedChild): void
  onListChanged(notification: Notification, child: SupervisedChild): void
  onNotification?(notification: Notification, child: SupervisedChild): void
  onRequest?(
    request: ServerRequest,
    signal: AbortSignal,
    child: SupervisedChild,
  ): Promise<McpResponse> | undefined
  onGiveUp(failure: Failure, child: SupervisedChild): void
}

/** Starts a child at once. It is not stopped when idle, and it is restarted if it exits. */
export function begin(
  spec: SessionSpec,
  memory: EraMemory,
  deps: Pick<ChildrenDeps, 'clock' | 'log' | 'random' | 'onFailure'>,
  hooks: Hooks,
): SupervisedChild {
  const { clock, log, random = Math.random } = deps
  const child: SupervisedChild = new SupervisedChild(
    { ...spec, idleAfterMs: undefined, revive: true },
    {
      clock,
      log,
      memory,
      random,
      backoff: createRestartBackoff(random),
      onState: () => hooks.onState(child),
      onListChanged: list => hooks.onListChanged({ method: `notifications/${list}/list_changed` }, child),
      onNotification: notification => hooks.onNotification?.(notification, child),
      onRequest: (request, signal) => hooks.onRequest?.(request, signal, child),
      onFailure(failure, failures) {
        log.warn({ reason: failure.reason, failures }, failure.message)
        deps.onFailure?.(failure.reason)
        if (failures >= MAX_FAILURES) hooks.onGiveUp(failure, child)
      },
    },
  )
  child.connect(new AbortController().signal).catch(() => {}) // `onFailure` reports it
  return child
}

/** The Fault `upstream_busy` for a call that would need more than `sessions` children. */
export function allInUse(sessions: number, idleAfterMs: number): Fault {
  const minutes = (idleAfterMs / 60_000).toFixed(1).replace('.0', '')
  const message =
    `All ${sessions} sessions of the server are in use; one becomes free when its client ends it, ` +
    `or after ${minutes} min without a call`
  return new Fault('upstream_busy', message, { retryable: true, details: { sessions } })
}
