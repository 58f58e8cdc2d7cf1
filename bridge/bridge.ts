/** A bridge: children, what they are asked and what they say, put together and served. */
import type { Clock } from '../core/async.ts'
import type { Log } from '../core/log.ts'
import type { CommandSpec } from '../core/mcp/client/stdio/stdio-rpc.ts'
import type { Failure } from '../core/mcp/client/stdio/supervised-child.ts'
import { createClients } from '../core/mcp/server/clients.ts'
import { Listeners } from '../core/mcp/server/listeners.ts'
import { createBearerCheck } from './bearer.ts'
import type { ChildrenDeps } from './children.ts'
import { createHandler } from './handler.ts'
import { serve } from './serve.ts'
import { SessionChildren } from './session-children.ts'
import { SharedChild } from './shared-child.ts'

/** More than there can be sessions with a child. */
export const MAX_STREAMS = 256

export type BridgeOptions = {
  host: string
  /** 0 for any that is free. */
  port: number
  /** The server's name. */
  name: string
  /** `shared`: one child for all callers; `perClient`: one for each session. */
  sessions: 'shared' | 'perClient'
  /** How long a session without a call keeps its child. */
  idleAfterMs: number
  /** Callers must show the token in this file; absent: everybody is let in. */
  bearerFile?: string
  command: CommandSpec
}

export type BridgeDeps = { clock: Clock; log: Log; random?: () => number }

export type Bridge = {
  port: number
  /** Resolves where the children do not come up; whoever started us may try again later. */
  hopeless: Promise<Failure>
  /** Waits up to `drainMs` for calls in flight, then ends connections and children. Idempotent. */
  close(drainMs: number): Promise<void>
}

/** Listens at once, ready or not. Throws Fault `unavailable` where it cannot, `io` where the token file holds none. */
export async function startBridge(options: BridgeOptions, deps: BridgeDeps): Promise<Bridge> {
  const { name, sessions, bearerFile, command, idleAfterMs } = options
  const admits = bearerFile === undefined ? undefined : createBearerCheck(bearerFile, deps.clock)
  const clients = createClients({ clock: deps.clock, maxStreams: MAX_STREAMS })
  const listeners = new Listeners()
  const { promise: hopeless, resolve } = Promise.withResolvers<Failure>()
  const childrenDeps: ChildrenDeps = {
    ...deps,
    listeners,
    clients: { ...clients, listens: client => clients.streams.newest(client) !== undefined },
    onHopeless: resolve,
  }
  const children =
    sessions === 'shared'
      ? new SharedChild(command, childrenDeps)
      : new SessionChildren(command, idleAfterMs, childrenDeps)
  const handler = createHandler(name, children, listeners)
  const serving = serve({ ...options, ...deps, server: name, handler, children, clients, admits })
  const server = await serving.catch(async error => {
    await children.close()
    throw error
  })
  deps.log.info({ port: server.port, sessions }, 'bridge listens')
  return {
    port: server.port,
    hopeless,
    async close(drainMs) {
      await server.close(drainMs)
      await children.close()
    },
  }
}
