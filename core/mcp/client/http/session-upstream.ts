/** An upstream over HTTP: opens sessions when needed, and replaces those that are lost. */
import { waitFor } from '../../../deadline.ts'
import { Fault, type FaultCode } from '../../../errors.ts'
import { capabilityCode } from '../../protocol/capabilities.ts'
import type { McpResponse, Notification } from '../../protocol/json-rpc.ts'
import { changedList, RESOURCE_UPDATED } from '../../protocol/message.ts'
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
import { upstreamDeadline } from '../../upstream-deadline.ts'
import { BUSY } from './faults.ts'
import type { OpenSession, Session, SessionHooks } from './session.ts'
import { type Entry, SessionBook, type SessionKey } from './session-book.ts'
import {
  type Asking,
  createSessionKeys,
  FOR_ALL,
  type SessionKeys,
  SHARED,
  sharedKey,
} from './session-key.ts'
import { SessionSubscriptions } from './session-subscriptions.ts'
import { SignOfLife } from './sign-of-life.ts'
import type { RemoteDeps, RemoteSpec } from './spec.ts'

/** Reasons of the state `failed`; Unreachable for all other codes. */
const REASONS: Partial<Record<FaultCode, string>> = {
  upstream_auth_required: 'AuthRequired',
  user_refused: 'NeedsLogin',
  upstream_timeout: 'StartTimeout',
  upstream_protocol: 'ProtocolError',
}

/** If shared sessions depend on capabilities, discovery uses the one with all capabilities. */
const SHARED_WITH_DISCOVERY = sharedKey(capabilityCode(DISCOVERY.capabilities))

/** Limit for the answer to a check; a larger answer also proves that the upstream is up. */
const MAX_LIFE_BYTES = 1 << 20

/** A call is sent once more, on a new session, if its session is lost. */
const MAX_TRIES = 2

/** How sessions are opened, and how calls are assigned to them. */
export type Opening = { open: OpenSession } & Omit<SessionKeys, 'perClient'>

export class SessionUpstream implements Upstream {
  readonly #spec: RemoteSpec
  readonly #deps: RemoteDeps
  readonly #opening: Opening
  readonly #release: () => Promise<void>
  readonly #book: SessionBook
  readonly #keyOf: ReturnType<typeof createSessionKeys>
  readonly #subscriptions: SessionSubscriptions
  readonly #listeners = new Set<(event: UpstreamEvent) => void>()
  readonly #closing = new AbortController()
  readonly #life: SignOfLife | undefined
  #listener: SessionListener | undefined
  #closed: Promise<void> | undefined
  /** The last state that was reported, as JSON. */
  #lastState = ''

  /** `release` frees what the sessions share, once they are closed. */
  constructor(spec: RemoteSpec, deps: RemoteDeps, opening: Opening, release: () => Promise<void>) {
    this.#spec = spec
    this.#deps = deps
    this.#opening = opening
    this.#release = release
    const open = (entry: Entry) => this.#begin(entry)
    this.#book = new SessionBook({ clock: deps.clock, idleMs: spec.sessionIdleMs, open })
    this.#keyOf = createSessionKeys({ ...opening, perClient: spec.sessions === 'perClient' })
    this.#subscriptions = new SessionSubscriptions(this.#book, deps)
    this.#life = deps.watchesLife ? this.#watchLife() : undefined
  }

  async connect(signal: AbortSignal, caller: Asking = DISCOVERY): Promise<UpstreamInfo> {
    const entry = this.#acquire(caller)
    try {
      const { info } = entry.session ?? (await waitFor(entry.opening, signal))
      return info
    } finally {
      this.#book.release(entry)
    }
  }

  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse> {
    return this.#ask(call, signal, MAX_TRIES)
  }

  async subscribe(subscription: Subscription, signal: AbortSignal): Promise<McpResponse> {
    const wanted = () => {
      if (this.#closing.signal.aborted) throw new Fault('cancelled', 'The upstream is closed')
      return this.#keyOf(this.#spec.sessions === 'shared' ? {} : subscription.caller)
    }
    return this.#subscriptions.subscribe(subscription, wanted, signal)
  }

  attach(listener: SessionListener): void {
    this.#listener = listener
  }

  tell(client: string, notification: Notification): void {
    if (this.#spec.sessions === 'perClient') this.#book.find(client)?.session?.tell(notification)
  }

  forget(client: string): void {
    if (this.#spec.sessions !== 'perClient') return
    this.#subscriptions.forget(client)
    this.#book.forget(client)
  }

  sessions(): number {
    return this.#spec.sessions === 'perClient' ? this.#book.ofClients() : 0
  }

  onEvent(listener: (event: UpstreamEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    this.#closing.abort(new Fault('cancelled', 'The upstream was closed'))
    this.#subscriptions.close()
    this.#life?.close()
    await this.#book.close()
    await this.#release()
  }

  /** Retries on a new session if the first is lost, in which case nothing was executed. */
  async #ask(call: UpstreamCall, signal: AbortSignal, tries: number): Promise<McpResponse> {
    const entry = this.#acquire(call.caller)
    try {
      const session = entry.session ?? (await waitFor(entry.opening, signal))
      const answer = await session.request(call, signal)
      if (answer !== 'lost') {
        entry.refusedAt = undefined
        this.#life?.heard()
        return answer
      }
      this.#book.drop(entry)
    } catch (error) {
      if (error instanceof Fault && entry.session && meansGone(error, entry, this.#deps.clock.elapsed())) {
        // Other calls on this session may still succeed, so it is closed only after them.
        this.#book.retire(entry)
        this.#tellFailed(error)
      }
      throw error
    } finally {
      this.#book.release(entry)
    }
    if (tries > 1) return this.#ask(call, signal, tries - 1)
    throw new Fault('upstream_died', 'The upstream loses each session as soon as it is opened', {
      retryable: true,
    })
  }

  #watchLife(): SignOfLife {
    const { clock, random = Math.random } = this.#deps
    const ping = () => (this.#opening.speaks('modern') ? 'server/discover' : 'ping')
    return new SignOfLife({
      ...{ clock, random },
      ask: (lightest, signal) => {
        const method = lightest ? ping() : 'tools/list'
        return this.request({ method, caller: DISCOVERY, maxBytes: MAX_LIFE_BYTES }, signal)
      },
      isBusy: () => this.#book.isBusy(),
      onDown: ({ message }) => {
        const entry = this.#book.find(this.#keyOf(DISCOVERY).key)
        if (entry) this.#book.retire(entry)
        this.#tell({ kind: 'state', state: 'failed', reason: 'Unreachable', message })
      },
    })
  }

  #acquire(asking: Asking): Entry {
    if (this.#closing.signal.aborted) throw new Fault('cancelled', 'The upstream is closed')
    return this.#book.acquire(this.#keyOf(asking))
  }

  async #begin(entry: Entry): Promise<Session> {
    if (speaksForUpstream(entry.key)) this.#tell({ kind: 'state', state: 'starting' })
    const limit = upstreamDeadline(
      this.#deps.clock,
      this.#spec.startTimeoutMs,
      'The upstream did not start in time',
      this.#closing.signal,
    )
    try {
      const session = await this.#opening.open(this.#hooksOf(entry), limit.signal)
      if (this.#mustNotBeShared(entry, session)) throw await refuseToShare(session)
      entry.session = session
      if (!entry.own && session.info.era === 'modern') this.#book.moveTo(entry, FOR_ALL)
      this.#tell({ kind: 'state', state: 'ready' })
      return session
    } catch (error) {
      if (error instanceof Fault) this.#tellFailed(error)
      throw error
    } finally {
      limit.clear()
    }
  }

  /** Whether a session opened for sharing turned out to be a 2025 session of a `perClient` upstream, which must not be shared. */
  #mustNotBeShared({ own }: Entry, { info }: Session): boolean {
    return this.#spec.sessions === 'perClient' && !own && info.era !== 'modern'
  }

  #hooksOf(entry: Entry): SessionHooks {
    const { key, capabilities, own, prefers } = entry
    const speaks = speaksForUpstream(key)
    const client = own && typeof key === 'string' && key !== DISCOVERY_CLIENT ? key : undefined
    const listChanged = () => speaks && entry.session && this.#tell({ kind: 'listChanged', list: 'tools' })
    return {
      capabilities,
      prefers,
      own,
      listen: speaks ? this.#listeners.size > 0 : client !== undefined && this.#listener !== undefined,
      lost: () => {
        if (entry.gone) return
        this.#book.drop(entry)
        if (entry.session?.info.era === 'modern') this.#book.dropModern()
        // The upstream was restarted: its lists may have changed.
        listChanged()
      },
      reopened: () => entry.subscriptions?.missed(),
      missedLists: listChanged,
      notified: notification => this.#notified(entry, client, notification),
      asked: (request, signal) =>
        client === undefined ? undefined : this.#listener?.asked(client, request, signal),
    }
  }

  #notified(entry: Entry, client: string | undefined, notification: Notification): void {
    if (notification.method === RESOURCE_UPDATED) {
      entry.subscriptions?.updated(notification)
      return
    }
    const list = changedList(notification.method)
    if (list) this.#tell({ kind: 'listChanged', list })
    if (client !== undefined) this.#listener?.notified(client, notification)
  }

  #tellFailed(fault: Fault): void {
    const reason = REASONS[fault.code] ?? 'Unreachable'
    this.#tell({ kind: 'state', state: 'failed', reason, message: fault.message })
  }

  #tell(event: UpstreamEvent): void {
    if (this.#closing.signal.aborted) return
    if (event.kind === 'state') {
      if (event.state === 'ready') this.#life?.up()
      else if (event.state === 'failed') this.#life?.down()
      const reported = JSON.stringify(event)
      if (reported === this.#lastState) return
      this.#lastState = reported
    }
    for (const listener of this.#listeners) listener(event)
  }
}

async function refuseToShare(session: Session): Promise<Fault> {
  await session.close()
  return new Fault('upstream_died', 'The upstream went back to an older protocol', { retryable: true })
}

/** Whether this session's state and list changes count for the whole upstream. */
function speaksForUpstream(key: SessionKey): boolean {
  return key === SHARED || key === DISCOVERY_CLIENT || key === SHARED_WITH_DISCOVERY
}

/** After answers of BUSY alone for this time, a session is given up: a proxy that keeps its calls to one pod may never reach that pod again. */
const MAX_REFUSED_MS = 60_000

/** Whether a fault concerns the whole upstream, not a single call: then the next call opens a new session. The state of a client's own session would be lost. */
function meansGone({ code, details: { status } }: Fault, entry: Entry, now: number): boolean {
  if (code !== 'upstream_unreachable') return code === 'upstream_auth_required' && status !== 403
  // After an answer of BUSY, it may still know the session.
  if (!entry.own || !BUSY.has(status) || speaksForUpstream(entry.key)) return status !== 500
  entry.refusedAt ??= now
  return now - entry.refusedAt >= MAX_REFUSED_MS
}
