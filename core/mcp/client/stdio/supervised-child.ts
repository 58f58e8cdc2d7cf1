/** Supervises one child: starts it when needed, stops it when idle, restarts it with backoff after a failure. */
import type { Timer } from '../../../async.ts'
import { waitFor } from '../../../deadline.ts'
import { Fault } from '../../../errors.ts'
import type { McpResponse, Notification } from '../../protocol/json-rpc.ts'
import { RESOURCE_UPDATED } from '../../protocol/message.ts'
import type { Subscription, UpstreamCall, UpstreamInfo } from '../../upstream.ts'
import { ResourceSubscriptions, type SubscribableSession } from '../resource-subscriptions.ts'
import type { ChildExit } from './child.ts'
import { ChildSession, type SessionDeps, type SessionSpec } from './child-session.ts'
import { forget } from './opening.ts'
import type { RestartBackoff } from './restart-backoff.ts'
import { errorLineOf, exitText, stoppedFault } from './session-faults.ts'

export type SupervisedChildSpec = SessionSpec & {
  /** Stopped after this time without a call; undefined: never. */
  idleAfterMs: number | undefined
  /** Whether a failed child is restarted without waiting for a call. */
  revive: boolean
}

export type SupervisedChildDeps = SessionDeps & {
  backoff: RestartBackoff
  /** Called after each change of `state`. */
  onState(): void
  /** Called for each failed start and each unexpected exit; `failures` counts them in a row. */
  onFailure?(failure: Failure, failures: number): void
}

export type Failure = { reason: string; message: string; stderr: string[] }

export type ChildState = { state: 'asleep' | 'starting' | 'ready' } | ({ state: 'failed' } & Failure)

/** `since`: when it became ready, in milliseconds of the clock's `elapsed`. */
type Running = { session: ChildSession; info: UpstreamInfo; since: number }

export class SupervisedChild {
  readonly #spec: SupervisedChildSpec
  readonly #deps: SupervisedChildDeps
  #state: ChildState = { state: 'asleep' }
  #running: Running | undefined
  #starting: Promise<Running> | undefined
  #session: ChildSession | undefined
  /** Resolves when the previous child has ended: two never run at the same time. */
  #leaving: Promise<void> = Promise.resolve()
  /** While running: the idle timeout. After a failure: the next start. */
  #timer: Timer | undefined
  readonly #subscriptions: ResourceSubscriptions
  #inFlight = 0
  #lastUsed = 0
  #closed = false

  constructor(spec: SupervisedChildSpec, deps: SupervisedChildDeps) {
    this.#spec = spec
    this.#deps = deps
    const { clock, random } = deps
    const session: SubscribableSession = {
      subscribe: async (uri, signal) => {
        if (!this.#running)
          throw new Fault('upstream_died', 'The server ended meanwhile', { retryable: true })
        return this.#running.session.subscribe(uri, signal)
      },
      unsubscribe: uri => this.#running?.session.unsubscribe(uri),
    }
    this.#subscriptions = new ResourceSubscriptions({ clock, random, session })
  }

  get state(): ChildState {
    return this.#state
  }

  /** The handshake's result of the running child. */
  get info(): UpstreamInfo | undefined {
    return this.#running?.info
  }

  /** Calls in progress or waiting for the start. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** Whether it has calls or subscriptions. */
  get isUsed(): boolean {
    return this.#inFlight > 0 || this.#subscriptions.size > 0
  }

  /** Resolves when the child is ready; concurrent callers share one start. Rejects with Fault upstream_starting during backoff. */
  connect(signal: AbortSignal): Promise<UpstreamInfo> {
    return this.#use(signal, async ({ info }) => info)
  }

  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse> {
    return this.#use(signal, ({ session }) => session.request(call, signal))
  }

  /** Forwards updates of one resource until `signal` aborts, also after restarts. A child with subscriptions is not stopped for being idle, nor to make room. */
  subscribe(subscription: Subscription, signal: AbortSignal): Promise<McpResponse> {
    return this.#use(signal, () => this.#subscriptions.subscribe(subscription, signal))
  }

  /** Forwards a notification of the client to the child, if it is running. */
  tell(notification: Notification): void {
    this.#running?.session.tell(notification)
  }

  /** Rejects calls in flight and ends the child. */
  async close(): Promise<void> {
    this.#closed = true
    this.#subscriptions.close()
    this.#running = undefined
    this.#timer?.cancel()
    await Promise.all([this.#session?.stop(), this.#leaving])
    await this.#starting?.catch(() => {})
  }

  async #use<T>(signal: AbortSignal, work: (running: Running) => Promise<T>): Promise<T> {
    this.#inFlight++
    try {
      return await work(this.#running ?? (await waitFor(this.#wake(), signal)))
    } finally {
      this.#inFlight--
      this.#lastUsed = this.#deps.clock.elapsed()
    }
  }

  async #wake(): Promise<Running> {
    if (this.#closed) throw stoppedFault()
    if (this.#starting) return this.#starting
    const retryInMs = this.#deps.backoff.remaining(this.#deps.clock.elapsed())
    if (retryInMs > 0) throw backoffFault(this.#state, retryInMs)
    return this.#start()
  }

  #start(): Promise<Running> {
    this.#timer?.cancel()
    // A failed server stays `failed` until it is ready again, so that its state does not flicker.
    if (this.#state.state !== 'failed') this.#enter({ state: 'starting' })
    const starting = this.#attempt().finally(() => {
      this.#starting = undefined
    })
    starting.catch(() => {})
    this.#starting = starting
    return starting
  }

  async #attempt(): Promise<Running> {
    await this.#leaving
    if (this.#closed) throw stoppedFault()
    const first = this.#launch()
    let session = first
    let info: UpstreamInfo
    try {
      info = await first.ready.catch(async error => {
        if (!first.diedOfProbe || this.#closed) throw error
        await first.stop()
        if (this.#closed) throw error
        this.#deps.memory.modern = false
        session = this.#launch()
        return session.ready
      })
    } catch (error) {
      this.#leaving = session.stop()
      if (session !== first) forget(this.#deps.memory) // the probe was not the cause
      if (this.#closed) throw stoppedFault()
      if (error instanceof Fault) this.#startFailed(error, session.stderr())
      throw error
    }
    if (this.#closed) throw stoppedFault()
    const running = { session, info, since: this.#deps.clock.elapsed() }
    this.#running = running
    this.#subscriptions.renewed()
    this.#enter({ state: 'ready' })
    if (this.#spec.idleAfterMs !== undefined) this.#sleepAfter(this.#spec.idleAfterMs)
    void session.ended.then(exit => this.#died(running, exit))
    return running
  }

  #launch(): ChildSession {
    const { onNotification } = this.#deps
    this.#session = new ChildSession(this.#spec, {
      ...this.#deps,
      onNotification: notification => {
        if (notification.method === RESOURCE_UPDATED) this.#subscriptions.updated(notification)
        else onNotification?.(notification)
      },
    })
    return this.#session
  }

  #startFailed(fault: Fault, stderr: string[]): void {
    const { backoff, clock } = this.#deps
    const delayMs = backoff.failed(clock.elapsed(), undefined)
    const startReason = String(fault.details.reason)
    const reason = startReason === 'ExitedAtStart' && backoff.failures > 1 ? 'CrashLooping' : startReason
    const failure = { reason, message: fault.message, stderr }
    this.#deps.onFailure?.(failure, backoff.failures)
    this.#fail(failure, delayMs)
  }

  #died(running: Running, exit: ChildExit): void {
    if (this.#running !== running) return // stopped on purpose
    const { backoff, clock, log } = this.#deps
    const { session, since } = running
    const livedMs = clock.elapsed() - since
    const delayMs = backoff.failed(clock.elapsed(), livedMs)
    log?.warn({ exitCode: exit.code, signal: exit.signal, livedMs, delayMs }, 'server ended by itself')
    this.#running = undefined
    this.#leaving = session.stop()
    this.#timer?.cancel()
    const stderr = session.stderr()
    const failure =
      backoff.failures === 1
        ? { reason: 'Ended', message: `The server ended ${exitText(exit)}${errorLineOf(stderr)}`, stderr }
        : {
            reason: 'CrashLooping',
            message: `The server ends again and again, now ${exitText(exit)}${errorLineOf(stderr)}`,
            stderr,
          }
    this.#deps.onFailure?.(failure, backoff.failures)
    if (delayMs > 0) this.#fail(failure, delayMs)
    else this.#restart()
  }

  #fail(failure: Failure, delayMs: number): void {
    this.#timer = this.#deps.clock.after(delayMs, () => this.#restart())
    this.#enter({ state: 'failed', ...failure })
  }

  #restart(): void {
    if (this.#spec.revive || this.#subscriptions.size > 0) void this.#start()
    else this.#enter({ state: 'asleep' })
  }

  /** One timer for all calls: when it fires, it checks the time since the last call. */
  #sleepAfter(ms: number): void {
    const { clock } = this.#deps
    this.#timer = clock.after(ms, () => {
      const idleMs = this.#spec.idleAfterMs ?? 0
      const used = this.#inFlight > 0 || this.#subscriptions.size > 0
      const rest = used ? idleMs : this.#lastUsed + idleMs - clock.elapsed()
      if (rest > 0) this.#sleepAfter(rest)
      else this.#sleep()
    })
  }

  #sleep(): void {
    const session = this.#running?.session
    this.#running = undefined
    if (session) this.#leaving = session.stop()
    this.#deps.backoff.reset()
    this.#enter({ state: 'asleep' })
  }

  #enter(state: ChildState): void {
    this.#state = state
    if (!this.#closed) this.#deps.onState()
  }
}

/** The fault for calls during the backoff. */
function backoffFault(state: ChildState, retryInMs: number): Fault {
  const failed = state.state === 'failed' ? state : { reason: 'CrashLooping', message: 'The server failed' }
  const seconds = (retryInMs / 1000).toFixed(1)
  return new Fault('upstream_starting', `${failed.message} (started again in ${seconds} s)`, {
    retryable: true,
    details: { reason: failed.reason, retryInMs: Math.ceil(retryInMs) },
  })
}
