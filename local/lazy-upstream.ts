/** An upstream that is created on first use, because its creation can take long, such as an installation. Concurrent callers share the attempt. */
import type { Clock } from '../core/async.ts'
import { waitFor } from '../core/deadline.ts'
import { Fault } from '../core/errors.ts'
import type { McpResponse, Notification } from '../core/mcp/protocol/json-rpc.ts'
import { NO_SUBSCRIPTIONS } from '../core/mcp/protocol/subscription-errors.ts'
import type {
  SessionListener,
  Subscription,
  Upstream,
  UpstreamCall,
  UpstreamEvent,
  UpstreamInfo,
} from '../core/mcp/upstream.ts'
import { failureOf } from './failure-state.ts'

/** Calls within this time after a failure get the same error instead of a new attempt. */
const FAILURE_KEPT_MS = 5_000

export class LazyUpstream implements Upstream {
  readonly #make: (signal: AbortSignal) => Promise<Upstream>
  readonly #clock: Clock
  readonly #life = new AbortController()
  readonly #listeners = new Set<(event: UpstreamEvent) => void>()
  #made: Promise<Upstream> | undefined
  /** What `#made` resolved with. */
  #upstream: Upstream | undefined
  #failed: { error: unknown; at: number } | undefined
  #listener: SessionListener | undefined

  /** `make` gets a signal that is aborted by `close`. */
  constructor(make: (signal: AbortSignal) => Promise<Upstream>, clock: Clock) {
    this.#make = make
    this.#clock = clock
  }

  async connect(signal: AbortSignal): Promise<UpstreamInfo> {
    return (await this.#ready(signal)).connect(signal)
  }

  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse> {
    const isOpen = !signal.aborted && !this.#life.signal.aborted
    if (isOpen && this.#upstream) return this.#upstream.request(call, signal)
    return this.#ready(signal).then(made => made.request(call, signal))
  }

  onEvent(listener: (event: UpstreamEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async subscribe(subscription: Subscription, signal: AbortSignal): Promise<McpResponse> {
    const made = await this.#ready(signal)
    return made.subscribe?.(subscription, signal) ?? { error: NO_SUBSCRIPTIONS }
  }

  attach(listener: SessionListener): void {
    this.#listener = listener
    void this.#made?.then(made => made.attach?.(listener)).catch(() => {})
  }

  tell(client: string, notification: Notification): void {
    void this.#made?.then(made => made.tell?.(client, notification)).catch(() => {})
  }

  forget(client: string): void {
    void this.#made?.then(made => made.forget?.(client)).catch(() => {})
  }

  sessions(): number {
    return this.#upstream?.sessions?.() ?? 0
  }

  async close(): Promise<void> {
    this.#life.abort(new Fault('upstream_unreachable', 'the gateway no longer runs this server'))
    const made = await this.#made?.catch(() => undefined)
    this.#listeners.clear()
    await made?.close()
  }

  /** Stops waiting if the caller aborts; the creation continues for other callers. */
  async #ready(signal: AbortSignal): Promise<Upstream> {
    signal.throwIfAborted()
    this.#life.signal.throwIfAborted()
    this.#made ??= this.#begin()
    return waitFor(this.#made, signal)
  }

  /** Starts to create the upstream, or fails at once if the last attempt has just failed. */
  #begin(): Promise<Upstream> {
    const age = this.#failed ? this.#clock.elapsed() - this.#failed.at : Number.POSITIVE_INFINITY
    if (this.#failed && age < FAILURE_KEPT_MS) {
      const { error } = this.#failed
      return this.#clearOnFailure(Promise.reject(error))
    }
    this.#emit({ kind: 'state', state: 'starting' })
    return this.#clearOnFailure(
      this.#make(this.#life.signal).then(
        upstream => {
          this.#failed = undefined
          this.#upstream = upstream
          upstream.onEvent(event => this.#emit(event))
          if (this.#listener) upstream.attach?.(this.#listener)
          return upstream
        },
        error => {
          this.#failed = { error, at: this.#clock.elapsed() }
          const { reason, message } = failureOf(error)
          this.#emit({ kind: 'state', state: 'failed', reason, message })
          throw error
        },
      ),
    )
  }

  /** Lets the next call try again if this attempt fails. */
  #clearOnFailure(making: Promise<Upstream>): Promise<Upstream> {
    making.catch(() => {
      this.#made = undefined
    })
    return making
  }

  #emit(event: UpstreamEvent): void {
    for (const listener of [...this.#listeners]) listener(event)
  }
}
