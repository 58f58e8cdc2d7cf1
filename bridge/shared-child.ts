/** One child for all callers. Issues no session ids, so that any replica can answer any call. */
import type { CommandSpec } from '../core/mcp/client/stdio/stdio-rpc.ts'
import type { SupervisedChild } from '../core/mcp/client/stdio/supervised-child.ts'
import type { McpResponse } from '../core/mcp/protocol/json-rpc.ts'
import type { Subscription, UpstreamCall, UpstreamInfo } from '../core/mcp/upstream.ts'
import { begin, type Children, type ChildrenDeps } from './children.ts'

export class SharedChild implements Children {
  readonly sessions = { issue: () => undefined, find: () => undefined, end: () => false }
  readonly running = { sessions: 0, processes: 1 }
  info: UpstreamInfo | undefined
  readonly #child: SupervisedChild

  constructor(spec: CommandSpec, deps: ChildrenDeps) {
    this.#child = begin({ ...spec, shared: true }, {}, deps, {
      onState: ({ info }) => {
        this.info = info ?? this.info
      },
      // Other notifications are for a single caller, and the child does not say which.
      onListChanged: notification => deps.listeners.tell(notification, () => true),
      onGiveUp: deps.onGiveUp,
    })
  }

  get ready(): boolean {
    return this.#child.state.state === 'ready'
  }

  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse> {
    return this.#child.request(call, signal)
  }

  subscribe(subscription: Subscription, signal: AbortSignal): Promise<McpResponse> {
    return this.#child.subscribe(subscription, signal)
  }

  tell(): void {}

  close(): Promise<void> {
    return this.#child.close()
  }
}
