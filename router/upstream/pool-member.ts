/** Calls to one server: its upstream, created at the first call, behind slots, time limits and a circuit breaker. */
import { type Clock, delay } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import { Fault, type FaultCode } from '../../core/errors.ts'
import type { Caller } from '../../core/mcp/caller.ts'
import { isNotConnected } from '../../core/mcp/client/http/faults.ts'
import type { McpResponse, Notification } from '../../core/mcp/protocol/json-rpc.ts'
import { NO_SUBSCRIPTIONS } from '../../core/mcp/protocol/subscription-errors.ts'
import type { SessionListener, Subscription, Upstream } from '../../core/mcp/upstream.ts'
import type { WakeRequests } from '../waking/wake-requests.ts'
import { RETRY, Waker } from '../waking/waker.ts'
import { type Breaker, type BreakerStatus, createBreaker, type Verdict } from './breaker.ts'
import { CallLimit, cancelled } from './call-limit.ts'
import { CallPermit, type CallPermitOptions } from './call-permit.ts'
import { MemberUse } from './member-use.ts'
import { type PoolCall, sentAs } from './pool-call.ts'
import { closedFault, openFault, replacedFault } from './pool-faults.ts'
import { createSlots, type Slots } from './slots.ts'

/** Faults that count as failures of the upstream. Tool errors, JSON-RPC errors, refusals and cancellations do not. */
const FAILURES: ReadonlySet<FaultCode> = new Set([
  'upstream_unreachable',
  'upstream_timeout',
  'upstream_died',
  'upstream_protocol',
])

export type PoolMemberStatus = {
  server: string
  /** Whether there is an upstream. It is created at the first call, and closed when the server falls asleep. */
  used: boolean
  active: number
  waiting: number
  /** Calls whose callers are answering a question; absent: none. */
  asking?: number
  /** Calls that wait for the server to be woken; absent: none. */
  held?: number
  /** Open subscriptions; absent: none. Likewise the sessions of single clients or users. */
  subscriptions?: number
  sessions?: number
  /** When the last call arrived, in milliseconds since the epoch. */
  lastCallAt?: number
  /** For how long nothing has used the server through this router; absent while something does. */
  idleMs?: number
  /** With a pod for each user: by the digest of the user, for how long nothing has used it; 0 while something does. */
  instances?: Record<string, number>
  breaker: BreakerStatus
}

export type PoolMemberOptions = {
  /** Creates the upstream without starting it. */
  connect: (server: RouterServer) => Upstream
  clock: Clock
  /** Receives what the upstream sends to one client between that client's calls. */
  listener: SessionListener
  wakes: WakeRequests
  /** Called when the upstream notifies that a list has changed. */
  onListChanged?: () => void
}

export class PoolMember {
  #server: RouterServer
  readonly #options: PoolMemberOptions
  readonly #slots: Slots
  readonly #breaker: Breaker
  readonly #permitOptions: CallPermitOptions
  readonly #waker: Waker
  readonly #use: MemberUse
  #upstream: Upstream | undefined
  /** Whether the upstream is up, so that a call does not wait for a start. */
  #isUp = false
  #closed = false
  /** Aborts when this member is replaced: calls that wait for the server to be woken are then sent by its successor. */
  readonly #replaced = new AbortController()
  /** Calls sent and not answered yet, paused ones included. */
  #inFlight = 0
  #lastCallAt: number | undefined
  #onIdle: (() => void) | undefined

  constructor(server: RouterServer, options: PoolMemberOptions) {
    this.#server = server
    this.#options = options
    this.#slots = createSlots(options.clock)
    this.#breaker = createBreaker(options.clock)
    const concurrency = () => this.#server.limits.concurrency
    this.#permitOptions = { slots: this.#slots, breaker: this.#breaker, concurrency }
    const open = (caller: Caller, signal: AbortSignal) => this.open().connect(signal, caller)
    this.#waker = new Waker({ ...options, server: () => this.#server, open })
    this.#use = new MemberUse(options.clock)
  }

  get server(): RouterServer {
    return this.#server
  }

  /** Applies a new config of the same server that needs no new connection. Disconnects if the server fell asleep and no call is in flight. */
  adopt(server: RouterServer): void {
    this.#waker.adopting()
    const fellAsleep = server.sleep?.asleep === true && this.#server.sleep?.asleep !== true
    this.#server = server
    this.#slots.admit(server.limits.concurrency)
    if (fellAsleep && this.#inFlight === 0) this.#disconnect()
  }

  /** Closes the connections to pods that are shutting down, so that the next call waits for another pod. */
  #disconnect(): void {
    const upstream = this.#upstream
    this.#upstream = undefined
    this.#isUp = false
    upstream?.close().catch(() => {}) // its sessions end with its pods
  }

  /**
   * Sends one request, after waking the server if it sleeps. Throws Faults; an upstream's JSON-RPC error is a normal answer. While the
   * caller answers a question, the call's time is paused and another call may use its slot.
   */
  call(call: PoolCall, signal: AbortSignal): Promise<McpResponse> {
    if (signal.aborted) return Promise.reject(cancelled())
    this.#lastCallAt = this.#options.clock.now()
    if (this.#breaker.refusesForMs() > 0) return Promise.reject(openFault(this.#breaker))
    return this.#waker.isNeeded ? this.#callAwake(call, signal) : this.#sendInTurn(call, signal)
  }

  /** Wakes the server, then sends the call. If no session can be opened, no pod runs (any more) and the call was not sent: wakes it again. */
  async #callAwake(call: PoolCall, signal: AbortSignal): Promise<McpResponse> {
    const { clock } = this.#options
    const untilMs = clock.elapsed() + this.#server.limits.startTimeoutMs
    for (let isUp = this.#isUp, failures = 0; ; isUp = false) {
      if (!isUp) await this.#wake(untilMs - clock.elapsed(), call.caller, signal)
      try {
        return await this.#sendInTurn(call, signal)
      } catch (error) {
        if (!isNotConnected(error) || this.#closed || signal.aborted) throw error
        if (call.times) call.times.sentMs = undefined
        if (clock.elapsed() >= untilMs) throw this.#waker.fault()
      }
      await delay(clock, backoffMs(RETRY, failures++, Math.random), signal)
    }
  }

  /** Throws Faults; `upstream_asleep` with the detail `replaced` if this member was replaced meanwhile. */
  async #wake(withinMs: number, caller: Caller, signal: AbortSignal): Promise<void> {
    const replaced = this.#replaced.signal
    const ends = AbortSignal.any([signal, replaced])
    try {
      await this.#use.held(this.#waker.wake(withinMs, caller, ends))
    } catch (error) {
      throw replaced.aborted && !signal.aborted ? replacedFault() : error
    }
  }

  #sendInTurn(call: PoolCall, signal: AbortSignal): Promise<McpResponse> {
    const turn = this.#slots.acquire(this.#server.limits.concurrency, signal)
    return turn ? turn.then(() => this.#send(call, signal)) : this.#send(call, signal)
  }

  /**
   * Passes on updates of a resource until `signal` aborts or the member is closed. Resolves once the upstream accepted the
   * subscription. Throws Faults.
   */
  async subscribe(subscription: Subscription, signal: AbortSignal): Promise<McpResponse> {
    if (this.#closed) throw closedFault()
    if (this.#breaker.refusesForMs() > 0) throw openFault(this.#breaker)
    const { callTimeoutMs, startTimeoutMs } = this.#server.limits
    if (this.#waker.isNeeded && !this.#isUp)
      await this.#use.held(this.#waker.wake(startTimeoutMs, subscription.caller, signal))
    const upstream = this.open()
    if (!upstream.subscribe) return { error: NO_SUBSCRIPTIONS }
    const limit = new CallLimit(this.#options.clock, callTimeoutMs + startTimeoutMs, signal)
    try {
      const answer = await upstream.subscribe(subscription, limit.signal)
      if (answer.error) limit.end()
      else {
        limit.pause()
        this.#use.subscribed(signal)
      }
      return answer
    } catch (error) {
      limit.end()
      throw limit.signal.aborted ? limit.signal.reason : error
    }
  }

  /** Forwards a notification of a client to its own session. */
  tell(client: string, notification: Notification): void {
    this.#upstream?.tell?.(client, notification)
  }

  /** Ends the session that the upstream keeps for a client that left. */
  forget(client: string): void {
    this.#upstream?.forget?.(client)
  }

  /** Closes once the calls in flight are done, at the latest after `withinMs`; 0: at once. */
  async retire(withinMs: number): Promise<void> {
    this.#replaced.abort()
    if (withinMs > 0 && this.#isBusy()) await this.#idle(withinMs)
    this.#closed = true
    await this.#upstream?.close()
  }

  status(): PoolMemberStatus {
    const active = this.#slots.active()
    return {
      server: this.#server.name,
      used: this.#upstream !== undefined,
      active,
      waiting: this.#slots.waiting(),
      asking: Math.max(0, this.#inFlight - active) || undefined,
      lastCallAt: this.#lastCallAt,
      ...this.#use.status(this.#inFlight + this.#slots.waiting(), this.#upstream?.sessions?.() ?? 0),
      breaker: this.#breaker.status(),
    }
  }

  /** Sends a call that has a slot, if the breaker allows it. If the call is ended early, throws the fault that ended it. */
  async #send(call: PoolCall, signal: AbortSignal): Promise<McpResponse> {
    const { sessions, limits, endpoint, sleep } = this.#server
    const entry = this.#closed ? undefined : this.#breaker.enter()
    if (!entry) {
      this.#slots.release(limits.concurrency)
      this.#reportIdle()
      throw this.#closed ? closedFault() : openFault(this.#breaker)
    }
    if (call.times) call.times.sentMs = performance.now()
    const up = this.#isUp && sessions === 'shared'
    // The call may wait for the server's start at the gateway.
    const heldElsewhere = endpoint.kind === 'gateway' && sleep !== undefined
    // A call that may have to wait for the server's start gets the start's time in addition to its own, until it is sent.
    const ms = limits.callTimeoutMs + (up && !heldElsewhere ? 0 : limits.startTimeoutMs)
    const limit = new CallLimit(this.#options.clock, ms, signal)
    const permit = new CallPermit(this.#permitOptions, entry, limit)
    this.#inFlight++
    let verdict: Verdict = 'undecided'
    let isSent = false
    const restarts = !up && !heldElsewhere
    const onSent =
      !restarts && !this.#waker.isNeeded
        ? undefined
        : () => {
            isSent = true
            if (restarts) limit.restart(limits.callTimeoutMs)
          }
    try {
      const answer = await this.open().request(sentAs(call, permit, onSent), limit.signal)
      verdict = 'success'
      this.#isUp = true
      return answer
    } catch (error) {
      const early = limit.signal.aborted ? limit.signal.reason : this.#closed ? closedFault() : undefined
      const fault: unknown = early ?? (isSent ? error : this.#waker.unsent(error))
      if (fault instanceof Fault && FAILURES.has(fault.code) && !this.#maySleep(fault)) verdict = 'failure'
      throw fault
    } finally {
      permit.end(verdict)
      this.#use.ended()
      this.#inFlight--
      this.#reportIdle()
    }
  }

  /** A server that has just gone to sleep has not failed. */
  #maySleep(fault: Fault): boolean {
    return this.#waker.isNeeded && isNotConnected(fault)
  }

  /** The upstream, created if there is none. */
  open(): Upstream {
    if (this.#upstream) return this.#upstream
    const upstream = this.#options.connect(this.#server)
    upstream.onEvent(event => {
      if (event.kind === 'state') this.#isUp = event.state === 'ready'
      else this.#options.onListChanged?.()
    })
    upstream.attach?.(this.#options.listener)
    this.#upstream = upstream
    return upstream
  }

  /** Also between the moment in which a waiting call gets a slot and the one in which it is sent. */
  #isBusy(): boolean {
    return this.#inFlight > 0 || this.#slots.active() > 0
  }

  #reportIdle(): void {
    if (!this.#isBusy()) this.#onIdle?.()
  }

  async #idle(withinMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onIdle = resolve
    const timer = this.#options.clock.after(withinMs, resolve)
    await promise
    timer.cancel()
  }
}
