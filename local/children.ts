/** The servers that run on this machine. Each has one upstream, which is replaced only if a change of the manifest requires it. */
import { connectionDigest, sourceDigest } from '../core/catalog/digests.ts'
import { DEFAULT_NAMESPACE, type ServerObservation } from '../core/catalog/resolve.ts'
import type { RouterServer, UserSecret } from '../core/catalog/router-config.ts'
import { Fault } from '../core/errors.ts'
import { discoveryIntervalMs } from '../core/mcp/discovery/schedule.ts'
import type { Upstream } from '../core/mcp/upstream.ts'
import { upstreamDeadline } from '../core/mcp/upstream-deadline.ts'
import type { ConnectedUser } from '../core/mcp/user.ts'
import { approveOf, refreshOf } from '../crds/annotations.ts'
import { parseDuration } from '../crds/quantity.ts'
import type { McpServer } from '../crds/server.ts'
import type { Approvals, Subject } from './approvals.ts'
import { oneLine } from './failure-state.ts'
import type { LaunchInputs } from './inputs.ts'
import { PinnedTools } from './pinned-tools.ts'
import { type DiscoveryDeps, type Observed, ServerDiscovery } from './server-discovery.ts'
import { type UserInputs, withUser } from './user-secrets.ts'

export type DesiredServer = {
  server: McpServer
  /** The folder of its manifest; paths in the manifest are relative to it. */
  folder: string
  inputs: LaunchInputs
  /** The credentials of its users. */
  users: readonly UserInputs[]
  /** Whether the gateway has `auth`. If not, lists are read with the login of the person at this machine, who is then the only user. */
  knowsCallers: boolean
}

/** Identifies the source of a server's list; part of the key in the catalog cache. */
export function listRevision(wanted: DesiredServer): string {
  const { server, folder, inputs } = wanted
  return `${sourceDigest(server)} ${folder} ${inputs.files}${readerOf(wanted)}`
}

/** Distinguishes a list that is read without a user from one that is read with the login of the person at this machine. */
function readerOf({ server, knowsCallers }: DesiredServer): string {
  return knowsCallers && server.spec.auth?.perUser?.oauth ? '-nobody' : ''
}

/** The key of a server in the approvals. */
export function subjectOf({ metadata }: McpServer, folder: string): Subject {
  return { server: metadata.name, namespace: metadata.namespace ?? DEFAULT_NAMESPACE, folder }
}

export type ChildrenDeps = {
  discovery: DiscoveryDeps
  approvals: Approvals
  /** As `launch` of launch-server.ts. */
  launch: (desired: DesiredServer, user?: ConnectedUser) => Upstream
}

/** `connection`: digest of what the upstream depends on; if it changes, the upstream is replaced. */
type Child = {
  server: McpServer
  wanted: DesiredServer
  connection: string
  shared: SharedUpstream
  discovery: ServerDiscovery
}

/** Must be closed with `close`. */
export class Children {
  readonly #deps: ChildrenDeps
  #children = new Map<string, Child>()
  #refused = new Map<string, ServerObservation>()
  /** How often a server was restarted on request. Part of the identity of its connection, so that a restart replaces the upstream. */
  readonly #restarts = new Map<string, number>()
  /** Upstreams of removed or changed servers that are being closed. */
  readonly #closing = new Set<Promise<void>>()

  constructor(deps: ChildrenDeps) {
    this.#deps = deps
  }

  /** Starts new servers, closes removed ones and replaces changed ones. */
  apply(desired: readonly DesiredServer[]): void {
    const next = new Map<string, Child>()
    const refused = new Map<string, ServerObservation>()
    for (const wanted of desired) {
      const { name } = wanted.server.metadata
      const [problem] = wanted.inputs.problems
      if (problem) {
        const message = oneLine(problem.path ? `${problem.path}: ${problem.message}` : problem.message)
        refused.set(name, {
          state: 'notAccepted',
          reason: problem.reason,
          message,
          since: this.#deps.discovery.clock.now(),
        })
      } else next.set(name, this.#keepOrBegin(wanted))
    }
    const gone = [...this.#children].filter(([name, child]) => next.get(name)?.shared !== child.shared)
    this.#children = next
    this.#refused = refused
    for (const [, child] of gone) this.#end(child)
  }

  /** The state of every server by name, for `resolve`. */
  observations(): Map<string, ServerObservation> {
    const all = new Map(this.#refused)
    for (const [name, { discovery, connection }] of this.#children) {
      const { state, reason, message, since } = discovery.observed()
      all.set(name, { state, reason, message, since, inputs: connection })
    }
    return all
  }

  /** The Secrets of users, by server, for `resolve`. */
  userSecrets(): Map<string, UserSecret[]> {
    const secretOf = ({ subject, revision, lacks }: UserInputs) => ({ subject, revision, lacks })
    return new Map([...this.#children].map(([name, { wanted }]) => [name, wanted.users.map(secretOf)]))
  }

  /** What is known of a server; undefined if it does not run here. */
  observed(name: string): Observed | undefined {
    return this.#children.get(name)?.discovery.observed()
  }

  /** Reads the approvals again: another process may have approved tools. */
  async readApprovals(): Promise<void> {
    await Promise.all([...this.#children.values()].map(({ discovery }) => discovery.readApprovals()))
  }

  /** Resolves once the cached list of every server, if there is one, is served. */
  async cacheRead(): Promise<void> {
    await Promise.all([...this.#children.values()].map(({ discovery }) => discovery.cacheRead))
  }

  /** Whether every server has a list, cached or discovered, or has failed. */
  settled(): boolean {
    return [...this.#children.values()].every(({ discovery }) => {
      const { catalog, state } = discovery.observed()
      return catalog !== undefined || state === 'failed' || state === 'authRequired'
    })
  }

  /** Tries a failed server again. To be called when a call of the server was refused because of its state. */
  retryIfFailed(server: string): void {
    this.#children.get(server)?.discovery.retryIfFailed()
  }

  /** The upstream of a server, or of one of its users, for the router's pool. A replaced upstream stays open until the pool closes it. */
  connect(server: RouterServer, user?: ConnectedUser): Upstream {
    const child = server.endpoint.kind === 'local' ? this.#children.get(server.endpoint.id) : undefined
    if (!child) return removedUpstream()
    return user ? this.#launchFor(child.wanted, user) : child.shared.lease()
  }

  /** The desired state of a server; undefined if it does not run here. */
  desiredServer(name: string): DesiredServer | undefined {
    return this.#children.get(name)?.wanted
  }

  /** Reads the lists of a server now; starts its process if it is asleep. */
  refresh(name: string): void {
    this.#children.get(name)?.discovery.refresh()
  }

  /** Starts or connects a server now. Throws the Fault if that fails. */
  async wake(name: string): Promise<void> {
    const child = this.#children.get(name)
    if (!child) return
    const ms = parseDuration(child.server.spec.limits.startTimeout)
    const message = `The server did not start within ${ms / 1000} s`
    const limit = upstreamDeadline(this.#deps.discovery.clock, ms, message)
    const lease = child.shared.lease()
    try {
      await lease.connect(limit.signal)
    } finally {
      limit.clear()
      await lease.close()
    }
  }

  /** Replaces a server's upstream as if its manifest had changed: calls in flight may finish. Throws the Fault if the start fails. */
  async restart(name: string): Promise<void> {
    const child = this.#children.get(name)
    if (!child) return
    this.#restarts.set(name, (this.#restarts.get(name) ?? 0) + 1)
    this.#children.set(name, this.#keepOrBegin(child.wanted))
    this.#end(child)
    await this.wake(name)
  }

  async close(): Promise<void> {
    const children = [...this.#children.values()]
    this.#children = new Map()
    const ends = children.flatMap(({ discovery, shared }) => [discovery.close(), shared.end()])
    await Promise.allSettled([...ends, ...this.#closing])
  }

  /** The running child with its new manifest if it needs no new connection; otherwise a new child. The caller ends the old one. */
  #keepOrBegin(wanted: DesiredServer): Child {
    const { server, folder, inputs } = wanted
    const restarts = this.#restarts.get(server.metadata.name)
    const digest = `${connectionDigest(server, inputs.digest)}${readerOf(wanted)}`
    const connection = `${digest}${restarts === undefined ? '' : `-${restarts}`}`
    const current = this.#children.get(server.metadata.name)
    if (current?.connection === connection) {
      const isRefreshRequested = refreshOf(current.server) !== refreshOf(server)
      current.server = server
      current.wanted = wanted
      current.discovery.serveAgain()
      if (isRefreshRequested) current.discovery.refresh()
      return current
    }
    const shared = new SharedUpstream(this.#deps.launch(wanted))
    const child: Omit<Child, 'discovery'> = { server, wanted, connection, shared }
    const target = {
      name: server.metadata.name,
      revision: listRevision(wanted),
      upstream: shared.lease(),
      pins: this.#pinsOf(child, folder),
      intervalMs: () => discoveryIntervalMs(child.server),
      process: server.spec.remote === undefined,
      eager: server.spec.remote !== undefined || (server.spec.scaling.min ?? 0) > 0,
    }
    return Object.assign(child, { discovery: new ServerDiscovery(target, this.#deps.discovery) })
  }

  #launchFor(wanted: DesiredServer, user: ConnectedUser): Upstream {
    const credentials = wanted.users.find(({ key }) => key === user.key)
    return this.#deps.launch({ ...wanted, inputs: withUser(wanted.inputs, credentials) }, user)
  }

  #pinsOf(child: Pick<Child, 'server'>, folder: string): PinnedTools {
    const { approvals, discovery } = this.#deps
    return new PinnedTools({
      subject: subjectOf(child.server, folder),
      policy: () => child.server.spec.tools,
      approve: () => approveOf(child.server),
      approvals,
      log: discovery.log,
    })
  }

  #end(child: Child): void {
    const ends = [child.discovery.close(), child.shared.release()]
    const closing = Promise.allSettled(ends).then(() => void this.#closing.delete(closing))
    this.#closing.add(closing)
  }
}

/** Shares one upstream between discovery and the router's pool. It is closed when all leases have been closed or released. */
class SharedUpstream {
  readonly #upstream: Upstream
  #leases = 0

  constructor(upstream: Upstream) {
    this.#upstream = upstream
  }

  /** The upstream, counted as one more user until `close` or `release`. */
  lease(): Upstream {
    this.#leases++
    let held = true
    const upstream = this.#upstream
    return {
      connect: signal => upstream.connect(signal),
      request: (call, signal) => upstream.request(call, signal),
      onEvent: listener => upstream.onEvent(listener),
      subscribe: upstream.subscribe?.bind(upstream),
      attach: listener => upstream.attach?.(listener),
      tell: (client, notification) => upstream.tell?.(client, notification),
      forget: client => upstream.forget?.(client),
      sessions: () => upstream.sessions?.() ?? 0,
      close: async () => {
        if (!held) return
        held = false
        await this.release()
      },
    }
  }

  /** Gives up one lease; closes the upstream if it was the last. */
  async release(): Promise<void> {
    if (--this.#leases <= 0) await this.end()
  }

  end(): Promise<void> {
    return this.#upstream.close()
  }
}

/** An upstream whose calls fail, for a server that was removed after the snapshot that a call is based on. */
function removedUpstream(): Upstream {
  const fail = () =>
    Promise.reject(
      new Fault('upstream_unreachable', 'the server was just removed or changed', { retryable: true }),
    )
  return { connect: fail, request: fail, onEvent: () => () => {}, close: async () => {} }
}
