/** An upstream made of sessions that are opened at first need, and opened anew when they are lost. */
import { Fault, type FaultCode } from '../../errors.ts'
import { deadline, waitFor } from '../deadline.ts'
import { changedList } from '../message.ts'
import type { Upstream, UpstreamAnswer, UpstreamCall, UpstreamEvent, UpstreamInfo } from '../upstream.ts'
import { DISCOVERY_CLIENT } from '../upstream.ts'
import type { OpenSession, Session, SessionHooks } from './session.ts'
import { type Entry, SessionBook } from './session-book.ts'
import type { RemoteDeps, RemoteSpec } from './spec.ts'

const REASONS: Partial<Record<FaultCode, string>> = {
  upstream_auth_required: 'AuthRequired',
  upstream_timeout: 'StartTimeout',
  upstream_protocol: 'ProtocolError',
}

export class SessionUpstream implements Upstream {
  readonly #spec: RemoteSpec
  readonly #deps: RemoteDeps
  readonly #open: OpenSession
  readonly #release: () => Promise<void>
  readonly #book: SessionBook
  readonly #listeners = new Set<(event: UpstreamEvent) => void>()
  readonly #closing = new AbortController()
  #closed: Promise<void> | undefined
  /** The last state that was told. */
  #told = ''

  /** `release` frees what the sessions have in common, once they are closed. */
  constructor(spec: RemoteSpec, deps: RemoteDeps, open: OpenSession, release: () => Promise<void>) {
    this.#spec = spec
    this.#deps = deps
    this.#open = open
    this.#release = release
    const shared = spec.sessions === 'shared'
    this.#book = new SessionBook({ clock: deps.clock, shared, open: entry => this.#begin(entry) })
  }

  connect(signal: AbortSignal): Promise<UpstreamInfo> {
    return this.#use(DISCOVERY_CLIENT, signal, async ({ info }) => info)
  }

  async request(call: UpstreamCall, signal: AbortSignal): Promise<UpstreamAnswer> {
    const ask = (session: Session) => session.request(call, signal)
    const answer = await this.#use(call.client, signal, ask)
    if (answer !== 'lost') return answer
    const again = await this.#use(call.client, signal, ask)
    if (again !== 'lost') return again
    throw new Fault('upstream_died', 'The upstream forgets its sessions at once', { retryable: true })
  }

  forget(client: string): void {
    this.#book.forget(client)
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
    await this.#book.close()
    await this.#release()
  }

  async #use<T>(
    client: string | undefined,
    signal: AbortSignal,
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    if (this.#closing.signal.aborted) throw new Fault('cancelled', 'The upstream is closed')
    const entry = this.#book.acquire(client)
    try {
      const result = await work(entry.session ?? (await waitFor(entry.opening, signal)))
      if (result === 'lost') this.#book.drop(entry)
      return result
    } catch (error) {
      if (error instanceof Fault && entry.session && meansGone(error)) {
        this.#book.drop(entry)
        this.#tellFailed(error)
      }
      throw error
    } finally {
      this.#book.giveBack(entry)
    }
  }

  async #begin(entry: Entry): Promise<Session> {
    const watched = entry.key === '' || entry.key === DISCOVERY_CLIENT
    if (watched) this.#tell({ kind: 'state', state: 'starting' })
    const { startTimeoutMs } = this.#spec
    const limit = deadline(
      this.#deps.clock,
      startTimeoutMs,
      'The upstream did not start in time',
      this.#closing.signal,
    )
    try {
      entry.session = await this.#open(this.#hooksOf(entry, watched), limit.signal)
      this.#tell({ kind: 'state', state: 'ready' })
      return entry.session
    } catch (error) {
      if (error instanceof Fault) this.#tellFailed(error)
      throw error
    } finally {
      limit.clear()
    }
  }

  #hooksOf(entry: Entry, watched: boolean): SessionHooks {
    return {
      listen: watched && this.#listeners.size > 0,
      lost: () => {
        if (entry.gone) return
        this.#book.drop(entry)
        // The upstream was started anew: what it lists may be something else now.
        if (watched && entry.session) this.#tell({ kind: 'listChanged', list: 'tools' })
      },
      notified: ({ method }) => {
        const list = changedList(method)
        if (list) this.#tell({ kind: 'listChanged', list })
      },
    }
  }

  #tellFailed(fault: Fault): void {
    const reason = REASONS[fault.code] ?? 'Unreachable'
    this.#tell({ kind: 'state', state: 'failed', reason, message: fault.message })
  }

  #tell(event: UpstreamEvent): void {
    if (this.#closing.signal.aborted) return
    if (event.kind === 'state') {
      const telling = JSON.stringify(event)
      if (telling === this.#told) return
      this.#told = telling
    }
    for (const listener of this.#listeners) listener(event)
  }
}

/** Faults after which the next connect has to find out whether the upstream is there: not those of a single call. */
function meansGone({ code, details: { status } }: Fault): boolean {
  return code === 'upstream_unreachable'
    ? status !== 500
    : code === 'upstream_auth_required' && status !== 403
}
