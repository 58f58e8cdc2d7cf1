/** One child for all callers. It issues no session ids: any replica may answer any call. */
import { isObject, type JsonObject } from '../core/json.ts'
import { METHOD_NOT_FOUND } from '../core/mcp/front/rejection.ts'
import { changedList } from '../core/mcp/message.ts'
import type { Life } from '../core/mcp/stdio/life.ts'
import type { SessionSpec } from '../core/mcp/stdio/session.ts'
import type { UpstreamAnswer, UpstreamCall, UpstreamInfo } from '../core/mcp/upstream.ts'
import { begin, type Children, type ChildrenDeps } from './children.ts'

/** What changes a session for its client alone, or asks for what another call left there. */
const OF_A_SESSION = /^(?:logging|tasks)\/|^resources\/(?:un)?subscribe$/

export class SharedChild implements Children {
  readonly sessions = { issue: () => undefined, find: () => undefined, end: () => false }
  info: UpstreamInfo | undefined
  readonly #life: Life

  constructor(spec: SessionSpec, deps: ChildrenDeps) {
    this.#life = begin(spec, deps, {
      onState: ({ info }) => {
        if (info) this.info = { ...info, capabilities: withoutSessions(info.capabilities) }
      },
      onNotification: notification => {
        // All else is meant for one of them, nobody knows which.
        if (changedList(notification.method)) deps.onNotification(notification, () => true)
      },
      onRequest: () => false, // nobody knows whose call it belongs to
      onHopeless: deps.onHopeless,
    })
  }

  get ready(): boolean {
    return this.#life.state.state === 'ready'
  }

  async request(call: UpstreamCall, signal: AbortSignal): Promise<UpstreamAnswer> {
    if (!OF_A_SESSION.test(call.method)) return this.#life.request(call, signal)
    const message = `${call.method} wants a session of its own, and this server is shared by all callers`
    return { error: { code: METHOD_NOT_FOUND, message } }
  }

  tell(): void {}

  close(): Promise<void> {
    return this.#life.close()
  }
}

function withoutSessions({ logging: _logging, tasks: _tasks, ...rest }: JsonObject): JsonObject {
  if (!isObject(rest.resources)) return rest
  const { subscribe: _subscribe, ...resources } = rest.resources
  return { ...rest, resources }
}
