/** The way to one server: its upstream, made at the first call, behind slots, time limits and a circuit breaker. */
import type { Clock } from '../../core/async.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import { Fault, type FaultCode } from '../../core/errors.ts'
import type { Upstream, UpstreamAnswer, UpstreamCall } from '../../core/mcp/upstream.ts'
import { type Breaker, type BreakerStatus, createBreaker, type Verdict } from './breaker.ts'
import { createSlots, type Slots } from './slots.ts'

/** Results are read up to here, whatever `maxResultBytes` is: their texts can only be cut once they are there. */
const MOST_BYTES_READ = 64 * 1024 * 1024

/** What speaks against the upstream itself. Tool errors, JSON-RPC errors, refusals and cancellations do not. */
const FAILURES: ReadonlySet<FaultCode> = new Set([
  'upstream_unreachable',
  'upstream_timeout',
  'upstream_died',
  'upstream_protocol',
])

export type LaneCall = Omit<UpstreamCall, 'maxBytes' | 'onSent'>

export type LaneStatus = {
  server: string
  /** Whether an upstream was made; one that nobody called yet costs nothing. */
  used: boolean
  active: number
  waiting: number
  /** When the last call came, in milliseconds since the epoch. */
  lastCallAt?: number
  breaker: BreakerStatus
}

export class Lane {
  #server: RouterServer
  readonly #connect: (server: RouterServer) => Upstream
  readonly #clock: Clock
  readonly #slots: Slots
  readonly #breaker: Breaker
  #upstream: Upstream | undefined
  /** Whether the upstream is up, so that a call need not wait for a start. */
  #warm = false
  #closed = false
  #lastCallAt: number | undefined
  #onIdle: (() => void) | undefined

  constructor(server: RouterServer, connect: (server: RouterServer) => Upstream, clock: Clock) {
    this.#server = server
    this.#connect = connect
    this.#clock = clock
    this.#slots = createSlots(clock)
    this.#breaker = createBreaker(clock)
  }

  get server(): RouterServer {
    return this.#server
  }

  /** Takes on new limits of the same server. */
  adopt(server: RouterServer): void {
    this.#server = server
    this.#slots.admit(server.limits.concurrency)
  }

  /** Sends one request. Throws Faults; an error that the upstream answers is an answer. */
  async call(call: LaneCall, signal: AbortSignal): Promise<UpstreamAnswer> {
    if (signal.aborted) throw cancelled()
    this.#lastCallAt = this.#clock.now()
    if (this.#breaker.refusesForMs() > 0) throw openFault(this.#breaker)
    const turn = this.#slots.acquire(this.#server.limits.concurrency, signal)
    if (turn) await turn
    try {
      return await this.#guarded(call, signal)
    } finally {
      this.#slots.release(this.#server.limits.concurrency)
      if (this.#slots.active() === 0) this.#onIdle?.()
    }
  }

  /** Ends what the upstream keeps for a client that went away. */
  forget(client: string): void {
    this.#upstream?.forget?.(client)
  }

  /** Closes once the calls in flight are done, at the latest after `withinMs`; 0: at once. */
  async retire(withinMs: number): Promise<void> {
    if (withinMs > 0 && this.#slots.active() > 0) await this.#idle(withinMs)
    this.#closed = true
    await this.#upstream?.close()
  }

  status(): LaneStatus {
    return {
      server: this.#server.name,
      used: this.#upstream !== undefined,
      active: this.#slots.active(),
      waiting: this.#slots.waiting(),
      lastCallAt: this.#lastCallAt,
      breaker: this.#breaker.status(),
    }
  }

  /** Sends where the breaker lets it, and tells the breaker how it went. */
  async #guarded(call: LaneCall, signal: AbortSignal): Promise<UpstreamAnswer> {
    if (this.#closed) throw new Fault('upstream_died', 'the upstream was closed while the call waited')
    const entry = this.#breaker.enter()
    if (!entry) throw openFault(this.#breaker)
    let verdict: Verdict = 'undecided'
    try {
      const answer = await this.#limited(call, signal)
      verdict = 'success'
      this.#warm = true
      return answer
    } catch (error) {
      if (error instanceof Fault && FAILURES.has(error.code)) verdict = 'failure'
      throw error
    } finally {
      this.#breaker.leave(entry, verdict)
    }
  }

  /** Sends with a time limit; whatever ends the call early, its fault is what is thrown. */
  async #limited(
    { method, params, client, onNotification }: LaneCall,
    signal: AbortSignal,
  ): Promise<UpstreamAnswer> {
    const limit = new AbortController()
    const onAbort = (): void => limit.abort(cancelled())
    const onTime = (): void => limit.abort(new Fault('upstream_timeout', 'no answer in time'))
    const { sessions, limits } = this.#server
    const up = this.#warm && sessions === 'shared'
    // A call that may have to wait for a start gets the start's time on top of its own, until it is sent.
    let timer = this.#clock.after(limits.callTimeoutMs + (up ? 0 : limits.startTimeoutMs), onTime)
    const onSent = up
      ? undefined
      : () => {
          timer.cancel()
          timer = this.#clock.after(limits.callTimeoutMs, onTime)
        }
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      const sent = { method, params, client, maxBytes: MOST_BYTES_READ, onNotification, onSent }
      return await this.#open().request(sent, limit.signal)
    } catch (error) {
      throw limit.signal.aborted ? limit.signal.reason : error
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', onAbort)
    }
  }

  #open(): Upstream {
    if (this.#upstream) return this.#upstream
    const upstream = this.#connect(this.#server)
    upstream.onEvent(event => {
      if (event.kind === 'state') this.#warm = event.state === 'ready'
    })
    this.#upstream = upstream
    return upstream
  }

  #idle(withinMs: number): Promise<void> {
    return new Promise(resolve => {
      const timer = this.#clock.after(withinMs, resolve)
      this.#onIdle = () => {
        timer.cancel()
        resolve()
      }
    })
  }
}

function cancelled(): Fault {
  return new Fault('cancelled', 'the caller went away')
}

function openFault(breaker: Breaker): Fault {
  return new Fault('upstream_open', 'the server failed too often', {
    retryable: true,
    details: { retryInMs: breaker.refusesForMs() },
  })
}
