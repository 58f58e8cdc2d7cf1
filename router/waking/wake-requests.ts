/** The servers, or instances of servers, that calls of this router wait for and that the operator has to start. At most MAX_WAITING calls wait. */
import { type Clock, delay } from '../../core/async.ts'
import { deadline, waitFor } from '../../core/deadline.ts'
import { Fault } from '../../core/errors.ts'

/** Limit of calls that wait at the same time, for all servers together. */
export const MAX_WAITING = 1_024
export const TRY_EVERY_MS = 100

/** What is waited for: a server, or one of its instances. */
export type Wanted = { server: string; instance?: string }

/** As routers report it. `since`: when the first of the waiting calls came, for example `2026-11-22T03:04:05.678Z`. */
export type WakeRequest = Wanted & { since: string }

/** How a wait ended: the server answers, it did not answer in time, or the caller cancelled or disconnected. */
export type WaitOutcome = 'woken' | 'failed' | 'left'

/** How a call waits; "it" is the server or instance that the call waits for. */
export type HoldOptions = {
  /** Whether it answers now. Never rejects. */
  reach: (signal: AbortSignal) => Promise<boolean>
  /** How long this call waits. */
  withinMs: number
  /** The fault if it did not answer in time. */
  fault: () => Fault
  /** The fault if it is already known that it will not answer. */
  refusal?: () => Fault | undefined
  /**
   * The request is reported at once, but the first attempt comes after this time: a host name that may not exist yet must not be looked
   * up, since resolvers remember unknown names for a while.
   */
  firstTryMs?: number
}

export type WakeRequestsOptions = {
  clock: Clock
  /** Called when the first call has to wait for a server or instance. */
  onWaiting?: (server: string) => void
  /** Called for each call that had to wait. */
  onWaited?: (server: string, outcome: WaitOutcome, waitedMs: number) => void
}

type Held = Wanted & {
  sinceMs: number
  waiting: number
  /** Whether it has not answered yet, so that the operator has to start it. */
  unanswered: boolean
  /** Resolves when it answers, or with a Fault if it will not. */
  ready: Promise<Fault | undefined>
  life: AbortController
}

export class WakeRequests {
  readonly #options: WakeRequestsOptions
  readonly #held = new Map<string, Held>()
  readonly #listeners = new Set<() => void>()
  #waiting = 0

  constructor(options: WakeRequestsOptions) {
    this.#options = options
  }

  list(): WakeRequest[] {
    return [...this.#held.values()]
      .filter(({ unanswered }) => unanswered)
      .map(({ server, instance, sinceMs }) => ({
        server,
        ...(instance !== undefined && { instance }),
        since: new Date(sinceMs).toISOString(),
      }))
  }

  /** Calls `listener` when `list` has changed. Returns the function that ends this. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Resolves once `reach` reports that it answers; this is tried every 100 ms, once for all waiting calls. Throws the given Fault after
   * `withinMs`, Fault `upstream_busy` if too many calls wait already, and the reason of `signal` if the caller cancels or disconnects.
   */
  async hold(wanted: Wanted, options: HoldOptions, signal: AbortSignal): Promise<void> {
    if (this.#waiting >= MAX_WAITING) throw tooMany()
    const { withinMs, fault } = options
    const key = keyOf(wanted)
    const held = this.#held.get(key) ?? this.#begin(key, wanted, options)
    const { clock } = this.#options
    const beganMs = clock.elapsed()
    const limit = deadline(clock, withinMs, 'It does not answer in time', signal)
    this.#waiting++
    held.waiting++
    let outcome: WaitOutcome = 'left'
    let refused: Fault | undefined
    try {
      refused = await waitFor(held.ready, limit.signal)
      outcome = refused ? 'failed' : 'woken'
    } catch (error) {
      if (signal.aborted) throw error
      outcome = 'failed'
      throw fault()
    } finally {
      limit.clear()
      this.#waiting--
      if (--held.waiting === 0) this.#end(key, held)
      if (held.unanswered) this.#options.onWaited?.(wanted.server, outcome, clock.elapsed() - beganMs)
    }
    if (refused) throw refused
  }

  #begin(key: string, wanted: Wanted, options: HoldOptions): Held {
    const { promise, resolve } = Promise.withResolvers<Fault | undefined>()
    const life = new AbortController()
    const sinceMs = this.#options.clock.now()
    const held: Held = { ...wanted, sinceMs, waiting: 0, unanswered: false, ready: promise, life }
    this.#held.set(key, held)
    void this.#try(held, options, resolve)
    return held
  }

  /** Tries until it answers, or will not answer, and then calls `end`; stops when no call waits. */
  async #try(held: Held, options: HoldOptions, end: (refused?: Fault) => void): Promise<void> {
    const { reach, refusal, firstTryMs = 0 } = options
    const { signal } = held.life
    const pause = (ms: number) => delay(this.#options.clock, ms, signal).catch(() => {})
    const report = () => {
      if (held.unanswered) return
      held.unanswered = true
      this.#options.onWaiting?.(held.server)
      this.#changed()
    }
    if (firstTryMs > 0) {
      report()
      await pause(firstTryMs)
    }
    while (!signal.aborted) {
      if (await reach(signal)) return end()
      if (signal.aborted) return
      const refused = refusal?.()
      if (refused) return end(refused)
      report()
      await pause(TRY_EVERY_MS)
    }
  }

  #end(key: string, held: Held): void {
    held.life.abort()
    this.#held.delete(key)
    if (held.unanswered) this.#changed()
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }
}

function keyOf({ server, instance = '' }: Wanted): string {
  return `${server}/${instance}`
}

function tooMany(): Fault {
  return new Fault('upstream_busy', `${MAX_WAITING} calls wait for servers to start`, {
    retryable: true,
    details: { waiting: MAX_WAITING },
  })
}
