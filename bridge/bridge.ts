/** Assembles a bridge: children, MCP handler and HTTP server. */
import type { Clock } from '../core/async.ts'
import type { Log } from '../core/log.ts'
import type { CommandSpec } from '../core/mcp/client/stdio/stdio-rpc.ts'
import type { Failure } from '../core/mcp/client/stdio/supervised-child.ts'
import { createClients } from '../core/mcp/server/clients.ts'
import { Listeners } from '../core/mcp/server/listeners.ts'
import { createBearerCheck } from './bearer.ts'
import type { ChildrenDeps } from './children.ts'
import { createHandler } from './handler.ts'
import { createBridgeMetrics } from './metrics.ts'
import { serveMetrics } from './metrics-server.ts'
import { serve } from './serve.ts'
import { SessionChildren } from './session-children.ts'
import { SharedChild } from './shared-child.ts'

/** How many event streams clients can have open at once: more than there are sessions with a child (`MAX_CHILDREN`). */
export const MAX_STREAMS = 256

export type BridgeOptions = {
  host: string
  /** 0 for any free port. */
  port: number
  /** The server's name, which clients get if the child declares none. */
  name: string
  /** `shared`: one child for all callers; `perClient`: one for each session. */
  sessions: 'shared' | 'perClient'
  /** How long a session keeps its child without a call. */
  idleAfterMs: number
  /** File with the bearer token that callers must send; absent: no authentication. */
  bearerFile?: string
  /** Revision that requests must name in the instance header; absent: requests need only the token. */
  instance?: string
  /** Port of the metrics, 0 for any free port; absent: metrics are not served. */
  metricsPort?: number
  /** Folder with the certificate; absent: no TLS. */
  tlsFolder?: string
  command: CommandSpec
}

export type BridgeDeps = { clock: Clock; log: Log; random?: () => number }

export type Bridge = {
  port: number
  /** Undefined if metrics are not served. */
  metricsPort: number | undefined
  /** Resolves when children have repeatedly failed to start: the process should then exit, so that the kubelet restarts it. */
  gaveUp: Promise<Failure>
  /** Waits up to `drainMs` for calls in flight, then ends connections and children. Idempotent. */
  close(drainMs: number): Promise<void>
}

/** Starts the children and listens before any is ready. Throws Fault `unavailable` if it cannot listen, `io` if the token file has no token. */
export async function startBridge(options: BridgeOptions, deps: BridgeDeps): Promise<Bridge> {
  const { name, sessions, bearerFile, command, idleAfterMs } = options
  const admits = bearerFile === undefined ? undefined : createBearerCheck(bearerFile, deps.clock)
  const clients = createClients({ clock: deps.clock, maxStreams: MAX_STREAMS })
  const listeners = new Listeners()
  const { promise: gaveUp, resolve } = Promise.withResolvers<Failure>()
  const metrics = createBridgeMetrics()
  const childrenDeps: ChildrenDeps = {
    ...deps,
    log: metrics.counting(deps.log),
    onFailure: metrics.failed,
    listeners,
    clients: { ...clients, listens: client => clients.streams.newest(client) !== undefined },
    onGiveUp: resolve,
  }
  const children =
    sessions === 'shared'
      ? new SharedChild(command, childrenDeps)
      : new SessionChildren(command, idleAfterMs, childrenDeps)
  metrics.watch(() => children.running)
  const handler = createHandler(name, children, listeners)
  const serving = serve({ ...options, ...deps, server: name, handler, children, clients, admits })
  const server = await serving.catch(async error => {
    await children.close()
    throw error
  })
  const { host, metricsPort } = options
  const metricsServer =
    metricsPort === undefined ? undefined : await serveMetrics(metrics.text, host, metricsPort, deps.log)
  deps.log.info({ port: server.port, sessions }, 'bridge listens')
  return {
    port: server.port,
    metricsPort: metricsServer?.port,
    gaveUp,
    async close(drainMs) {
      await server.close(drainMs)
      await children.close()
      metricsServer?.close()
    },
  }
}
