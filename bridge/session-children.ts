/** One child for each session, and a warm one: it shows that the server works, and is assigned to the next session that needs a child. */
import { randomBytes } from 'node:crypto'
import type { Timer } from '../core/async.ts'
import { waitFor } from '../core/deadline.ts'
import type { JsonObject } from '../core/json.ts'
import type { EraMemory } from '../core/mcp/client/stdio/opening.ts'
import { stoppedFault } from '../core/mcp/client/stdio/session-faults.ts'
import type { CommandSpec } from '../core/mcp/client/stdio/stdio-rpc.ts'
import type { SupervisedChild } from '../core/mcp/client/stdio/supervised-child.ts'
import { askable } from '../core/mcp/protocol/capabilities.ts'
import { METHOD_NOT_FOUND } from '../core/mcp/protocol/error-codes.ts'
import type { McpResponse, Notification } from '../core/mcp/protocol/json-rpc.ts'
import type { Era } from '../core/mcp/protocol/revisions.ts'
import type { Sessions } from '../core/mcp/server/session-ids.ts'
import type { Subscription, UpstreamCall, UpstreamInfo } from '../core/mcp/upstream.ts'
import { allInUse, begin, type Children, type ChildrenDeps } from './children.ts'
import { SpareChildren } from './spare-children.ts'

type ClientChild = {
  /** Set once a call needed a child. */
  life?: SupervisedChild
  /** The client's capabilities, if any: then it cannot use the warm child, which was started without them. */
  capabilities?: JsonObject
  /** Set while a child is being assigned. */
  taking?: Promise<SupervisedChild>
  /** Calls in progress or waiting. */
  calls: number
  /** Resources that its client is subscribed to. */
  subscriptions: number
  idle?: Timer
}

/** Children in use at once. */
export const MAX_CHILDREN = 32
/** One more for lists, so that discovery always gets a child. */
const MAX_WITH_LISTING = MAX_CHILDREN + 1
/** Most sessions have no child: their clients have only read lists. */
const MAX_SESSIONS = 4_096
const ID_BYTES = 18
const NO_SESSION =
  'This server runs once for each client session, and this caller has no session to receive updates'
/** A session that only read lists has no state yet, so the warm child gives the same answer. */
const LISTS = /^(?:tools|prompts|resources|resources\/templates)\/list$/

/** A session ends with its DELETE, with its child, or after `idleAfterMs` without a call. */
export class SessionChildren implements Children {
  readonly sessions: Sessions = {
    issue: params => this.#open(params),
    find: id => {
      const child = this.#children.get(id)
      return child && { client: id, capabilities: child.capabilities }
    },
    end: id => this.#endSession(id),
  }
  info: UpstreamInfo | undefined
  readonly #spec: CommandSpec
  readonly #speaks: EraMemory = {}
  readonly #idleAfterMs: number
  readonly #deps: ChildrenDeps
  readonly #closing = new AbortController()
  readonly #children = new Map<string, ClientChild>()
  /** Assigned children, with the client of their session; those for a single call have none. */
  readonly #taken = new Map<SupervisedChild, string | undefined>()
  readonly #leaving = new Set<Promise<void>>()
  #warm: SupervisedChild
  /** For calls without a session, if the server speaks the 2026 era. */
  readonly #spares: SpareChildren

  constructor(spec: CommandSpec, idleAfterMs: number, deps: ChildrenDeps) {
    this.#spec = spec
    this.#idleAfterMs = idleAfterMs
    this.#deps = deps
    this.#warm = this.#begin()
    this.#spares = new SpareChildren({
      begin: () => this.#begin(undefined, 'modern'),
      drop: life => this.#drop(life),
      clock: deps.clock,
      idleAfterMs,
    })
  }

  get running() {
    return { sessions: this.#children.size, processes: this.#taken.size + 1 }
  }

  get ready(): boolean {
    return [this.#warm, ...this.#taken.keys()].some(({ state }) => state.state === 'ready')
  }

  async request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse> {
    const {
      method,
      caller: { client },
    } = call
    const usesWarm = LISTS.test(method)
    if (client === undefined)
      return usesWarm ? this.#warm.request(call, signal) : this.#callOnce(call, signal)
    return this.#withChild(client, signal, usesWarm, life => life.request(call, signal))
  }

  async subscribe(subscription: Subscription, signal: AbortSignal): Promise<McpResponse> {
    const { client } = subscription.caller
    if (client === undefined) return { error: { code: METHOD_NOT_FOUND, message: NO_SESSION } }
    const answer = await this.#withChild(client, signal, false, life => life.subscribe(subscription, signal))
    const child = this.#children.get(client)
    if (answer.error || !child || signal.aborted) return answer
    child.subscriptions++
    signal.addEventListener('abort', () => child.subscriptions--, { once: true })
    return answer
  }

  tell(client: string, notification: Notification): void {
    this.#children.get(client)?.life?.tell(notification)
  }

  async close(): Promise<void> {
    this.#closing.abort(stoppedFault())
    for (const client of [...this.#children.keys()]) this.#endSession(client)
    this.#spares.close()
    for (const life of [this.#warm, ...this.#taken.keys()]) this.#drop(life)
    await Promise.all(this.#leaving)
  }

  #begin(clientCapabilities?: JsonObject, prefers: Era = 'legacy'): SupervisedChild {
    const spec = { ...this.#spec, clientCapabilities, prefers }
    const { clients, listeners } = this.#deps
    return begin(spec, this.#speaks, this.#deps, {
      onState: life => this.#changed(life),
      onListChanged: (notification, life) =>
        listeners.tell(notification, client => this.#concerns(client, life)),
      onNotification: (notification, life) => {
        const client = this.#taken.get(life)
        if (client !== undefined) clients.notify(client, notification)
      },
      onRequest: (request, signal, life) => {
        const client = this.#taken.get(life)
        return client === undefined ? undefined : clients.asking(client, request.method)?.(request, signal)
      },
      onHopeless: (failure, life) => {
        // Giving up ends the process and so all sessions; wait until those with a child have ended.
        if (life === this.#warm && this.#taken.size === 0) this.#deps.onHopeless(failure)
      },
    })
  }

  #concerns(client: string | undefined, life: SupervisedChild): boolean {
    const own = client === undefined ? undefined : this.#children.get(client)?.life
    return (own ?? this.#warm) === life
  }

  async #withChild<T>(
    client: string,
    signal: AbortSignal,
    usesWarm: boolean,
    work: (life: SupervisedChild) => Promise<T>,
  ): Promise<T> {
    const child = this.#children.get(client)
    if (!child) throw stoppedFault()
    child.idle?.cancel()
    child.calls++
    try {
      const room = usesWarm ? MAX_WITH_LISTING : MAX_CHILDREN
      const life = child.life ?? (usesWarm && !child.capabilities ? this.#warm : undefined)
      return await work(life ?? (await this.#assign(client, child, room, signal)))
    } finally {
      child.calls--
      this.#endWhenIdle(client, child)
    }
  }

  #changed(life: SupervisedChild): void {
    if (life === this.#warm) this.info = life.info ?? this.info
    // A restarted child has lost the state of its session.
    if (this.#taken.has(life) && life.state.state !== 'ready') this.#drop(life)
  }

  #open({ capabilities }: JsonObject): string {
    if (this.#children.size >= MAX_SESSIONS) {
      const [oldest] = [...this.#children].find(([, { life, calls }]) => !life && calls === 0) ?? []
      if (oldest !== undefined) this.#endSession(oldest)
    }
    const id = randomBytes(ID_BYTES).toString('base64url')
    const child: ClientChild = { calls: 0, subscriptions: 0, capabilities: askable(capabilities) }
    this.#children.set(id, child)
    this.#endWhenIdle(id, child)
    return id
  }

  #endWhenIdle(client: string, child: ClientChild): void {
    if (child.calls > 0 || this.#children.get(client) !== child) return
    child.idle?.cancel()
    child.idle = this.#deps.clock.after(this.#idleAfterMs, () => {
      const waits = child.subscriptions > 0 && this.#deps.clients.listens(client)
      if (waits) this.#endWhenIdle(client, child)
      else this.#endSession(client)
    })
  }

  #endSession(client: string): boolean {
    const child = this.#children.get(client)
    if (!child) return false
    child.idle?.cancel()
    this.#children.delete(client)
    if (child.life && this.#taken.has(child.life)) this.#drop(child.life)
    this.#deps.clients.end(client)
    return true
  }

  /** Ends a child and its session. */
  #drop(life: SupervisedChild): void {
    const client = this.#taken.get(life)
    this.#taken.delete(life)
    const leaving = life.close().finally(() => this.#leaving.delete(leaving))
    this.#leaving.add(leaving)
    if (client !== undefined) this.#endSession(client)
  }

  /** Assigns a child to a session; concurrent first calls share one assignment. */
  #assign(client: string, child: ClientChild, room: number, signal: AbortSignal): Promise<SupervisedChild> {
    const { capabilities } = child
    const { signal: closing } = this.#closing
    // In the 2026 era each request carries its caller's capabilities.
    const asks = capabilities && this.#speaks.legacy !== false
    const taking = () =>
      asks ? this.#start(client, capabilities, closing, room) : this.#take(client, closing)
    child.taking ??= taking()
      .then(life => {
        if (this.#children.get(client) === child) child.life = life
        else this.#drop(life)
        return life
      })
      .finally(() => {
        child.taking = undefined
      })
    return waitFor(child.taking, signal)
  }

  async #callOnce(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse> {
    const life = await this.#takeOnce(askable(call.caller.capabilities), signal)
    try {
      return await life.request(call, signal)
    } finally {
      this.#drop(life)
    }
  }

  /** A child for one call, which prefers the 2026 era; the warm child prefers the 2025 era, because sessions need it. */
  async #takeOnce(capabilities: JsonObject | undefined, signal: AbortSignal): Promise<SupervisedChild> {
    const { modern, legacy } = this.#speaks
    if (modern === false ? !capabilities : legacy === false) return this.#take(undefined, signal)
    this.#checkRoom()
    const spare = modern ? this.#spares.take() : undefined
    if (!spare) return this.#start(undefined, capabilities, signal)
    this.#taken.set(spare, undefined)
    await this.#connect(spare, signal)
    return spare
  }

  /** Assigns the warm child as soon as it is ready, and starts the next one. */
  async #take(client: string | undefined, signal: AbortSignal): Promise<SupervisedChild> {
    for (;;) {
      this.#checkRoom()
      const life = this.#warm
      await life.connect(signal)
      if (life !== this.#warm || this.#taken.size >= MAX_CHILDREN) continue // another call took it
      this.#taken.set(life, client)
      this.#warm = this.#begin()
      return life
    }
  }

  /** Starts a child with its client's capabilities, which are declared in the handshake. */
  async #start(
    client: string | undefined,
    capabilities: JsonObject | undefined,
    signal: AbortSignal,
    room = MAX_CHILDREN,
  ): Promise<SupervisedChild> {
    this.#checkRoom(room)
    const life = this.#begin(capabilities, client === undefined ? 'modern' : 'legacy')
    this.#taken.set(life, client)
    await this.#connect(life, signal)
    return life
  }

  async #connect(life: SupervisedChild, signal: AbortSignal): Promise<void> {
    try {
      await life.connect(signal)
    } catch (error) {
      this.#drop(life)
      throw error
    }
  }

  #checkRoom(room = MAX_CHILDREN): void {
    if (this.#closing.signal.aborted) throw stoppedFault()
    if (this.#taken.size < room) return
    throw allInUse(MAX_CHILDREN, this.#idleAfterMs)
  }
}
