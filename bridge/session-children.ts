/** One child per session, and a warm child: it shows that the server works, and is assigned to the next session that needs a child. */
import { randomBytes } from 'node:crypto'
import type { Timer } from '../core/async.ts'
import { waitFor } from '../core/deadline.ts'
import type { JsonObject } from '../core/json.ts'
import type { EraMemory } from '../core/mcp/client/stdio/opening.ts'
import { stoppedFault } from '../core/mcp/client/stdio/session-faults.ts'
import type { CommandSpec } from '../core/mcp/client/stdio/stdio-rpc.ts'
import type { SupervisedChild } from '../core/mcp/client/stdio/supervised-child.ts'
import { askable } from '../core/mcp/protocol/capabilities.ts'
import type { McpResponse, Notification } from '../core/mcp/protocol/json-rpc.ts'
import type { Era } from '../core/mcp/protocol/revisions.ts'
import { NO_SESSION } from '../core/mcp/protocol/subscription-errors.ts'
import type { Sessions } from '../core/mcp/server/session-ids.ts'
import type { Subscription, UpstreamCall, UpstreamInfo } from '../core/mcp/upstream.ts'
import { allInUse, begin, type Children, type ChildrenDeps } from './children.ts'
import { SpareChildren } from './spare-children.ts'

type Session = {
  /** Undefined until a call needs a child. */
  child?: SupervisedChild
  /** The client's capabilities; a session that has some cannot use the warm child, which was started without capabilities. */
  capabilities?: JsonObject
  /** Set while a child is being assigned. */
  assigning?: Promise<SupervisedChild>
  /** Calls in progress or waiting. */
  calls: number
  /** Resources that its client is subscribed to. */
  subscriptions: number
  idle?: Timer
}

/** Children in use at once. */
export const MAX_CHILDREN = 32
/** One more is allowed for requests that read lists, so that discovery always gets a child. */
const MAX_WITH_LISTING = MAX_CHILDREN + 1
/** Many more than children: most clients only read lists, for which their sessions need no child. */
const MAX_SESSIONS = 4_096
const ID_BYTES = 18
/** List requests of a session without a child go to the warm child: the session has no state yet, so the answer is the same. */
const LISTS = /^(?:tools|prompts|resources|resources\/templates)\/list$/

/** A session ends with a DELETE request, when its child exits, or after `idleAfterMs` without a call. */
export class SessionChildren implements Children {
  readonly sessions: Sessions = {
    issue: params => this.#open(params),
    find: id => {
      const session = this.#byClient.get(id)
      return session && { client: id, capabilities: session.capabilities }
    },
    end: id => this.#endSession(id),
  }
  info: UpstreamInfo | undefined
  readonly #spec: CommandSpec
  readonly #eras: EraMemory = {}
  readonly #idleAfterMs: number
  readonly #deps: ChildrenDeps
  readonly #closing = new AbortController()
  readonly #byClient = new Map<string, Session>()
  /** Assigned children, with the client of their session; undefined for a child that serves a single call. */
  readonly #assigned = new Map<SupervisedChild, string | undefined>()
  readonly #ending = new Set<Promise<void>>()
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
      drop: child => this.#drop(child),
      clock: deps.clock,
      idleAfterMs,
    })
  }

  get running() {
    return { sessions: this.#byClient.size, processes: this.#assigned.size + this.#spares.size + 1 }
  }

  get ready(): boolean {
    return [this.#warm, ...this.#assigned.keys()].some(({ state }) => state.state === 'ready')
  }

  async request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse> {
    const { client } = call.caller
    const usesWarm = LISTS.test(call.method)
    if (client === undefined)
      return usesWarm ? this.#warm.request(call, signal) : this.#callOnce(call, signal)
    return this.#withChild(client, signal, usesWarm, child => child.request(call, signal))
  }

  async subscribe(subscription: Subscription, signal: AbortSignal): Promise<McpResponse> {
    const { client } = subscription.caller
    if (client === undefined) return { error: NO_SESSION }
    const answer = await this.#withChild(client, signal, false, child =>
      child.subscribe(subscription, signal),
    )
    const session = this.#byClient.get(client)
    if (answer.error || !session || signal.aborted) return answer
    session.subscriptions++
    signal.addEventListener('abort', () => session.subscriptions--, { once: true })
    return answer
  }

  tell(client: string, notification: Notification): void {
    this.#byClient.get(client)?.child?.tell(notification)
  }

  async close(): Promise<void> {
    this.#closing.abort(stoppedFault())
    for (const client of [...this.#byClient.keys()]) this.#endSession(client)
    this.#spares.close()
    for (const child of [this.#warm, ...this.#assigned.keys()]) this.#drop(child)
    await Promise.all(this.#ending)
  }

  #begin(clientCapabilities?: JsonObject, prefers: Era = 'legacy'): SupervisedChild {
    const spec = { ...this.#spec, clientCapabilities, prefers }
    const { clients, listeners } = this.#deps
    return begin(spec, this.#eras, this.#deps, {
      onState: child => this.#changed(child),
      onListChanged: (notification, child) =>
        listeners.tell(notification, client => this.#concerns(client, child)),
      onNotification: (notification, child) => {
        const client = this.#assigned.get(child)
        if (client !== undefined) clients.notify(client, notification)
      },
      onRequest: (request, signal, child) => {
        const client = this.#assigned.get(child)
        return client === undefined ? undefined : clients.asking(client, request)?.(request, signal)
      },
      onGiveUp: (failure, child) => {
        // Giving up ends the process and all sessions, so it waits until no session has a child.
        if (child === this.#warm && this.#assigned.size === 0) this.#deps.onGiveUp(failure)
      },
    })
  }

  #concerns(client: string | undefined, child: SupervisedChild): boolean {
    const assigned = client === undefined ? undefined : this.#byClient.get(client)?.child
    return (assigned ?? this.#warm) === child
  }

  async #withChild<T>(
    client: string,
    signal: AbortSignal,
    usesWarm: boolean,
    work: (child: SupervisedChild) => Promise<T>,
  ): Promise<T> {
    const session = this.#byClient.get(client)
    if (!session) throw stoppedFault()
    session.idle?.cancel()
    session.calls++
    try {
      const limit = usesWarm ? MAX_WITH_LISTING : MAX_CHILDREN
      const child = session.child ?? (usesWarm && !session.capabilities ? this.#warm : undefined)
      return await work(child ?? (await this.#assign(client, session, limit, signal)))
    } finally {
      session.calls--
      this.#endWhenIdle(client, session)
    }
  }

  #changed(child: SupervisedChild): void {
    if (child === this.#warm) this.info = child.info ?? this.info
    // A restarted child has lost the state of its session.
    if (this.#assigned.has(child) && child.state.state !== 'ready') this.#drop(child)
  }

  #open({ capabilities }: JsonObject): string {
    if (this.#byClient.size >= MAX_SESSIONS) {
      const [oldest] = [...this.#byClient].find(([, { child, calls }]) => !child && calls === 0) ?? []
      if (oldest !== undefined) this.#endSession(oldest)
    }
    const id = randomBytes(ID_BYTES).toString('base64url')
    const session: Session = { calls: 0, subscriptions: 0, capabilities: askable(capabilities) }
    this.#byClient.set(id, session)
    this.#endWhenIdle(id, session)
    return id
  }

  #endWhenIdle(client: string, session: Session): void {
    if (session.calls > 0 || this.#byClient.get(client) !== session) return
    session.idle?.cancel()
    session.idle = this.#deps.clock.after(this.#idleAfterMs, () => {
      const waits = session.subscriptions > 0 && this.#deps.clients.listens(client)
      if (waits) this.#endWhenIdle(client, session)
      else this.#endSession(client)
    })
  }

  #endSession(client: string): boolean {
    const session = this.#byClient.get(client)
    if (!session) return false
    session.idle?.cancel()
    this.#byClient.delete(client)
    if (session.child && this.#assigned.has(session.child)) this.#drop(session.child)
    this.#deps.clients.end(client)
    return true
  }

  /** Ends a child and its session. */
  #drop(child: SupervisedChild): void {
    const client = this.#assigned.get(child)
    this.#assigned.delete(child)
    const ending = child.close().finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
    if (client !== undefined) this.#endSession(client)
  }

  /** Assigns a child to a session; concurrent first calls share one assignment. */
  #assign(client: string, session: Session, limit: number, signal: AbortSignal): Promise<SupervisedChild> {
    const { capabilities } = session
    const { signal: closing } = this.#closing
    // A server of the 2026 era gets the capabilities with each request, so any child will do.
    const startsOwn = capabilities && this.#eras.legacy !== false
    const assign = () =>
      startsOwn ? this.#start(client, capabilities, closing, limit) : this.#assignWarm(client, closing)
    session.assigning ??= assign()
      .then(child => {
        if (this.#byClient.get(client) === session) session.child = child
        else this.#drop(child)
        return child
      })
      .finally(() => {
        session.assigning = undefined
      })
    return waitFor(session.assigning, signal)
  }

  async #callOnce(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse> {
    const child = await this.#oneCallChild(askable(call.caller.capabilities), signal)
    try {
      return await child.request(call, signal)
    } finally {
      this.#drop(child)
    }
  }

  /** A child for one call. It prefers the 2026 era; the warm child prefers the 2025 era, which sessions need. */
  async #oneCallChild(capabilities: JsonObject | undefined, signal: AbortSignal): Promise<SupervisedChild> {
    const { modern, legacy } = this.#eras
    if (modern === false ? !capabilities : legacy === false) return this.#assignWarm(undefined, signal)
    this.#checkLimit()
    const spare = modern ? this.#spares.take() : undefined
    if (!spare) return this.#start(undefined, capabilities, signal)
    this.#assigned.set(spare, undefined)
    await this.#connect(spare, signal)
    return spare
  }

  /** Assigns the warm child as soon as it is ready, and starts the next one. */
  async #assignWarm(client: string | undefined, signal: AbortSignal): Promise<SupervisedChild> {
    for (;;) {
      this.#checkLimit()
      const child = this.#warm
      await child.connect(signal)
      if (child !== this.#warm || this.#assigned.size >= MAX_CHILDREN) continue // another call took it
      this.#assigned.set(child, client)
      this.#warm = this.#begin()
      return child
    }
  }

  /** Starts a child with its client's capabilities, which are declared in the handshake. */
  async #start(
    client: string | undefined,
    capabilities: JsonObject | undefined,
    signal: AbortSignal,
    limit = MAX_CHILDREN,
  ): Promise<SupervisedChild> {
    this.#checkLimit(limit)
    const child = this.#begin(capabilities, client === undefined ? 'modern' : 'legacy')
    this.#assigned.set(child, client)
    await this.#connect(child, signal)
    return child
  }

  async #connect(child: SupervisedChild, signal: AbortSignal): Promise<void> {
    try {
      await child.connect(signal)
    } catch (error) {
      this.#drop(child)
      throw error
    }
  }

  #checkLimit(limit = MAX_CHILDREN): void {
    if (this.#closing.signal.aborted) throw stoppedFault()
    if (this.#assigned.size < limit) return
    throw allInUse(MAX_CHILDREN, this.#idleAfterMs)
  }
}
