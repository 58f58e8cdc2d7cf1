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
  readonly #life: SupervisedChild

  constructor(spec: CommandSpec, deps: ChildrenDeps) {
    this.#life = begin({ ...spec, shared: true }, {}, deps, {
      onState: ({ info }) => {
        this.info = info ?? this.info
      },
      // Other notifications concern a single caller, and it is unknown which.
      onListChanged: notification => deps.listeners.tell(notification, () => true),
      onHopeless: deps.onHopeless,
    })
  }

  get ready(): boolean {
    return this.#life.state.state === 'ready'
  }

  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse> {
    return this.#life.request(call, signal)
  }

  subscribe(subscription: Subscription, signal: AbortSignal): Promise<McpResponse> {
    return this.#life.subscribe(subscription, signal)
  }

  tell(): void {}

  close(): Promise<void> {
    return this.#life.close()
  }
}
