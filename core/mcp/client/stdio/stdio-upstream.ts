/** An upstream that is a command on this machine: one child for all callers, or one for each client. */
import { Fault } from '../../../errors.ts'
import type { JsonObject } from '../../../json.ts'
import type { Caller } from '../../caller.ts'
import { METHOD_NOT_FOUND } from '../../protocol/error-codes.ts'
import type { McpResponse, Notification } from '../../protocol/json-rpc.ts'
import type { Era } from '../../protocol/revisions.ts'
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
  /** `shared`: one child for all calls. `perClient`: one for each `client` key; a call without a key has one for itself. */
  sessions: 'shared' | 'perClient'
  /** A child without calls is ended after this time, and started again by the next call. */
  idleAfterMs: number
  /** 1 keeps the shared child up from the start. */
  min: number
  /** Children at once with `perClient`; default 32. */
  maxClients?: number
}

export type StdioDeps = StdioRpcDeps & {
  /** 0 to 1, spreads restarts; default Math.random. */
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
 * Nothing is started before the first call, unless `min` is 1. A shared child that failed is tried again by itself, with
 * backoff; a client's child when the client calls again. Both fail fast with Fault upstream_starting during backoff.
 */
export function createStdioUpstream(spec: StdioSpec, deps: StdioDeps): StdioUpstream {
  const upstream = new StdioChildren(spec, deps)
  if (spec.sessions === 'shared' && spec.min > 0)
    queueMicrotask(() => upstream.connect(new AbortController().signal).catch(() => {}))
  return upstream
}

const NO_SESSION = {
  code: METHOD_NOT_FOUND,
  message:
    'Each client has a server of its own here, and this one has no session that could be told of changes',
}

/** The key of a client, or a symbol for a call that has no client. */
type Key = string | symbol

class StdioChildren implements StdioUpstream {
  readonly #shared: boolean
  readonly #maxClients: number
  readonly #spec: SupervisedChildSpec
  readonly #deps: StdioDeps
  /** The least recently used first. */
  readonly #lives = new Map<Key, SupervisedChild>()
  readonly #leaving = new Set<Promise<void>>()
  readonly #listeners = new Set<(event: UpstreamEvent) => void>()
  /** Children for one call have no past of their own, but crash for the same reason. */
  readonly #oneCallBackoff: RestartBackoff
  /** All children are of one server. */
  readonly #memory: EraMemory = {}
  #listener: SessionListener | undefined
  #shown: ChildState = { state: 'asleep' }
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
    return this.#shown.state
  }

  connect(signal: AbortSignal): Promise<UpstreamInfo> {
    return this.#use(DISCOVERY, life => life.connect(signal))
  }

  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse> {
    return this.#use(call.caller, life => life.request(call, signal))
  }

  async subscribe(subscription: Subscription, signal: AbortSignal): Promise<McpResponse> {
    if (!this.#shared && subscription.caller.client === undefined) return { error: NO_SESSION }
    return this.#use(subscription.caller, life => life.subscribe(subscription, signal))
  }

  attach(listener: SessionListener): void {
    this.#listener = listener
  }

  tell(client: string, notification: Notification): void {
    if (!this.#shared) this.#lives.get(client)?.tell(notification)
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
    for (const key of [...this.#lives.keys()]) void this.#drop(key)
    await Promise.all(this.#leaving)
  }

  /** A caller without a key has a child for the time of `work`. */
  async #use<T>({ client, capabilities }: Caller, work: (life: SupervisedChild) => Promise<T>): Promise<T> {
    const key = this.#shared ? SHARED : (client ?? Symbol('one call'))
    const life = this.#lifeOf(key, capabilities)
    try {
      return await work(life)
    } finally {
      if (typeof key === 'symbol') void this.#drop(key)
    }
  }

  #lifeOf(key: Key, capabilities: JsonObject | undefined): SupervisedChild {
    if (this.#closed) throw stoppedFault()
    const known = this.#lives.get(key)
    if (known && this.#shared) return known
    if (known) this.#lives.delete(key)
    else this.#makeRoom()
    const life = known ?? this.#createLife(key, capabilities)
    this.#lives.set(key, life)
    return life
  }

  /** A client's child is told at its start what that client can be asked for. */
  #createLife(key: Key, clientCapabilities: JsonObject | undefined): SupervisedChild {
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
      // A client's child has lists of its own: that they change says nothing of the others'.
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

  /** Ends the child that nobody used for the longest time. Throws Fault upstream_busy where all have calls in flight. */
  #makeRoom() {
    if (this.#lives.size < this.#maxClients) return
    const idle = [...this.#lives].filter(([, life]) => life.inFlight === 0)
    const [key] = idle.find(([, life]) => life.state.state === 'asleep') ?? idle[0] ?? []
    if (key !== undefined) return void this.#drop(key)
    const sessions = this.#maxClients
    const message = `All ${sessions} sessions of the server are in use`
    throw new Fault('upstream_busy', message, { retryable: true, details: { sessions } })
  }

  async #drop(key: Key): Promise<void> {
    const leaving = this.#lives.get(key)?.close()
    if (!leaving) return
    this.#lives.delete(key)
    this.#showState()
    this.#leaving.add(leaving)
    await leaving
    this.#leaving.delete(leaving)
  }

  #showState(): void {
    const states = [...this.#lives.values()].map(life => life.state)
    const best = BEST_FIRST.flatMap(name => states.find(({ state }) => state === name) ?? [])[0]
    const next: ChildState = best ?? { state: 'asleep' }
    if (JSON.stringify(next) === JSON.stringify(this.#shown)) return
    this.#shown = next
    this.#emit({ kind: 'state', ...next })
  }

  #emit(event: UpstreamEvent): void {
    if (!this.#closed) for (const listener of [...this.#listeners]) listener(event)
  }
}
