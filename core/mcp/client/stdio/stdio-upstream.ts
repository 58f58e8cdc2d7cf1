/** An upstream that runs as a local command: one child for all callers, or one for each client. */
import { Fault } from '../../../errors.ts'
import type { JsonObject } from '../../../json.ts'
import type { Caller } from '../../caller.ts'
import type { McpResponse, Notification } from '../../protocol/json-rpc.ts'
import type { Era } from '../../protocol/revisions.ts'
import { NO_SESSION } from '../../protocol/subscription-errors.ts'
import {
  DISCOVERY,
  DISCOVERY_CLIENT,
  type SessionListener,
  type Subscription,
  type Upstream,
  type UpstreamCall,
  type UpstreamEvent,
  type UpstreamInfo,
} from '../../upstream.ts'
import type { EraMemory } from './opening.ts'
import { createRestartBackoff, type RestartBackoff } from './restart-backoff.ts'
import { stoppedFault } from './session-faults.ts'
import type { CommandSpec, StdioRpcDeps } from './stdio-rpc.ts'
import { type ChildState, SupervisedChild, type SupervisedChildSpec } from './supervised-child.ts'

export type StdioSpec = CommandSpec & {
  /** `shared`: one child for all calls. `perClient`: one for each `client` key; a call without a key gets its own. */
  sessions: 'shared' | 'perClient'
  /** A child without calls is stopped after this time, and started again by the next call. */
  idleAfterMs: number
  /** 1 starts the shared child at once and keeps it running. */
  min: number
  /** Children at once with `perClient`; default 32. */
  maxClients?: number
}

export type StdioDeps = StdioRpcDeps & {
  /** Returns 0 to 1, for the jitter of restarts; default Math.random. */
  random?: () => number
}

export type StdioUpstream = Upstream & {
  /** The best state of all children. */
  readonly state: ChildState['state']
}

const MAX_CLIENTS = 32
const SHARED = ''
const BEST_FIRST: readonly ChildState['state'][] = ['ready', 'starting', 'failed', 'asleep']

/**
 * An upstream of child processes. Starts nothing before the first call, unless `min` is 1. A failed shared child is restarted by
 * itself, with backoff; a client's child when the client calls again. Calls during the backoff fail with Fault upstream_starting.
 */
export function createStdioUpstream(spec: StdioSpec, deps: StdioDeps): StdioUpstream {
  const upstream = new StdioChildren(spec, deps)
  if (spec.sessions === 'shared' && spec.min > 0)
    queueMicrotask(() => upstream.connect(new AbortController().signal).catch(() => {}))
  return upstream
}

/** The key of a client, or a symbol for a call without a client. */
type Key = string | symbol

class StdioChildren implements StdioUpstream {
  readonly #shared: boolean
  readonly #maxClients: number
  readonly #spec: SupervisedChildSpec
  readonly #deps: StdioDeps
  /** The least recently used first. */
  readonly #children = new Map<Key, SupervisedChild>()
  /** Settle when the dropped children have ended. */
  readonly #leaving = new Set<Promise<void>>()
  readonly #listeners = new Set<(event: UpstreamEvent) => void>()
  /** Shared by all children for single calls, because they crash for the same reason. */
  readonly #oneCallBackoff: RestartBackoff
  /** Shared by all children, because they run the same server. */
  readonly #memory: EraMemory = {}
  #listener: SessionListener | undefined
  #reportedState: ChildState = { state: 'asleep' }
  #closed = false

  constructor(spec: StdioSpec, deps: StdioDeps) {
    this.#shared = spec.sessions === 'shared'
    this.#maxClients = spec.maxClients ?? MAX_CLIENTS
    const awake = this.#shared && spec.min > 0
    const idleAfterMs = awake ? undefined : spec.idleAfterMs
    this.#spec = { ...spec, idleAfterMs, revive: this.#shared, shared: this.#shared }
    this.#deps = deps
    this.#oneCallBackoff = createRestartBackoff(deps.random ?? Math.random)
  }

  get state(): ChildState['state'] {
    return this.#reportedState.state
  }

  connect(signal: AbortSignal): Promise<UpstreamInfo> {
    return this.#use(DISCOVERY, child => child.connect(signal))
  }

  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse> {
    return this.#use(call.caller, child => child.request(call, signal))
  }

  async subscribe(subscription: Subscription, signal: AbortSignal): Promise<McpResponse> {
    if (!this.#shared && subscription.caller.client === undefined) return { error: NO_SESSION }
    return this.#use(subscription.caller, child => child.subscribe(subscription, signal))
  }

  attach(listener: SessionListener): void {
    this.#listener = listener
  }

  tell(client: string, notification: Notification): void {
    if (!this.#shared) this.#children.get(client)?.tell(notification)
  }

  forget(client: string): void {
    if (!this.#shared) void this.#drop(client)
  }

  onEvent(listener: (event: UpstreamEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const key of [...this.#children.keys()]) void this.#drop(key)
    await Promise.all(this.#leaving)
  }

  /** A caller without a key gets a child that ends after `work`. */
  async #use<T>({ client, capabilities }: Caller, work: (child: SupervisedChild) => Promise<T>): Promise<T> {
    const key = this.#shared ? SHARED : (client ?? Symbol('one call'))
    const child = this.#childOf(key, capabilities)
    try {
      const done = await work(child)
      if (typeof key === 'symbol') this.#oneCallBackoff.reset()
      return done
    } finally {
      if (typeof key === 'symbol') void this.#drop(key)
    }
  }

  #childOf(key: Key, capabilities: JsonObject | undefined): SupervisedChild {
    if (this.#closed) throw stoppedFault()
    const known = this.#children.get(key)
    if (known && this.#shared) return known
    if (known) this.#children.delete(key)
    else this.#makeRoom()
    const child = known ?? this.#createChild(key, capabilities)
    this.#children.set(key, child)
    return child
  }

  /** The client's capabilities are declared to its child in the handshake. */
  #createChild(key: Key, clientCapabilities: JsonObject | undefined): SupervisedChild {
    const isClient = typeof key === 'string' && key !== SHARED && key !== DISCOVERY_CLIENT
    const client = isClient ? key : undefined
    const prefers: Era = typeof key === 'symbol' ? 'modern' : 'legacy'
    const spec = this.#shared ? this.#spec : { ...this.#spec, clientCapabilities, prefers }
    return new SupervisedChild(spec, {
      ...this.#deps,
      memory: this.#memory,
      backoff:
        typeof key === 'symbol'
          ? this.#oneCallBackoff
          : createRestartBackoff(this.#deps.random ?? Math.random),
      onState: () => this.#showState(),
      // A client's child may have its own lists, whose changes do not concern other clients.
      onListChanged: list => {
        if (this.#shared || key === DISCOVERY_CLIENT) this.#emit({ kind: 'listChanged', list })
      },
      onNotification: notification => {
        if (client !== undefined) this.#listener?.notified(client, notification)
      },
      onRequest: (request, signal) =>
        client === undefined ? undefined : this.#listener?.asked(client, request, signal),
    })
  }

  /** Drops a child that is not used: one that is asleep, otherwise the least recently used. Throws Fault upstream_busy if all are used. */
  #makeRoom() {
    if (this.#children.size < this.#maxClients) return
    const idle = [...this.#children].filter(([, child]) => !child.isUsed)
    const [key] = idle.find(([, child]) => child.state.state === 'asleep') ?? idle[0] ?? []
    if (key !== undefined) return void this.#drop(key)
    const sessions = this.#maxClients
    const message = `All ${sessions} sessions of the server are in use`
    throw new Fault('upstream_busy', message, { retryable: true, details: { sessions } })
  }

  async #drop(key: Key): Promise<void> {
    const leaving = this.#children.get(key)?.close()
    if (!leaving) return
    this.#children.delete(key)
    this.#showState()
    this.#leaving.add(leaving)
    await leaving
    this.#leaving.delete(leaving)
  }

  #showState(): void {
    const states = [...this.#children.values()].map(child => child.state)
    const best = BEST_FIRST.flatMap(name => states.find(({ state }) => state === name) ?? [])[0]
    const next: ChildState = best ?? { state: 'asleep' }
    if (JSON.stringify(next) === JSON.stringify(this.#reportedState)) return
    this.#reportedState = next
    this.#emit({ kind: 'state', ...next })
  }

  #emit(event: UpstreamEvent): void {
    if (!this.#closed) for (const listener of [...this.#listeners]) listener(event)
  }
}
