/** Lets calls to a server that may sleep wait until the server answers, or until it could not be woken in time. */
import type { Clock } from '../../core/async.ts'
import { type Backoff, backoffMs } from '../../core/backoff.ts'
import type { Instance, RouterServer, UserProblem } from '../../core/catalog/router-config.ts'
import { deadline } from '../../core/deadline.ts'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/mcp/caller.ts'
import { unsentFault } from '../../core/mcp/client/http/faults.ts'
import { idOfUser } from '../../core/mcp/user.ts'
import { accepts } from './reach.ts'
import type { HoldOptions, WakeRequests } from './wake-requests.ts'

export type WakerOptions = {
  wakes: WakeRequests
  clock: Clock
  /** The server as the newest config has it. */
  server: () => RouterServer
  /** Opens the session that a caller's call will use, without sending the call. */
  open: (caller: Caller, signal: AbortSignal) => Promise<unknown>
}

/** When the host name of a user's pod is first looked up: by then, an operator that was notified has created the Service of the pod. */
const FIRST_TRY_MS = 700
/**
 * How long connections are not tried while the config says that the server sleeps: a service mesh accepts them, and the operator would not
 * hear of the call. Afterwards they are, since a router that cannot reach the API server does not read that the server was woken.
 */
const TRUST_MS = 5_000
/** After the config said that a server is ready, the proxies of a service mesh may not know its pod yet. */
const SETTLE_MS = 3_000
/** A handshake that takes longer has reached a server, which is slow; the call itself then waits for it. */
const HANDSHAKE_MS = 5_000
/** The pauses between handshakes that reach no pod. */
export const RETRY: Backoff = { firstMs: 200, longestMs: 1_000 }

export class Waker {
  readonly #options: WakerOptions
  /** Until when the config said that the server is not ready. */
  #notReadyAtMs = Number.NEGATIVE_INFINITY
  /** When the pod of the user was first requested, and whether a session could be opened since. */
  #requestedAtMs: number | undefined
  #wasReached = false
  /** The last handshake that reached no pod, how many did, and when the next one is due. */
  #refusal: unknown
  #refusals = 0
  #nextAtMs = 0

  constructor(options: WakerOptions) {
    this.#options = options
  }

  /** Whether its calls have to wait here while it sleeps, or while the pod of their user is created. A sidecar's calls wait at the gateway. */
  get isNeeded(): boolean {
    const { sleep, endpoint } = this.#options.server()
    return endpoint.kind === 'http' && (sleep !== undefined || endpoint.instance !== undefined)
  }

  /** Call before another config of the server is used. */
  adopting(): void {
    if (this.#isDown()) this.#notReadyAtMs = this.#options.clock.elapsed()
  }

  /** The fault of a call whose session could not be opened: it was not sent if nothing may run yet behind a proxy. */
  unsent(fault: unknown): unknown {
    if (!this.isNeeded || !this.#mayNotRun()) return fault
    const unsent = unsentFault(fault)
    if (unsent !== fault) this.#refusal = fault
    return unsent
  }

  /** The fault of a call that waited in vain: that of the last handshake, unless the server, or the pod of the user, is known not to run. */
  fault(): Fault {
    if (this.#refusal instanceof Fault && !this.#isDown()) return this.#refusal
    const server = this.#options.server()
    const instance = instanceOf(server)
    return instance ? instanceFault(server, instance) : asleepFault(server)
  }

  /** Whether the config says that the server, or the pod of the user, does not run. */
  #isDown(): boolean {
    const server = this.#options.server()
    const instance = instanceOf(server)
    if (instance) return problemOf(server, instance) !== undefined
    return server.sleep?.asleep === true || server.status.state !== 'ready'
  }

  /** Whether a failed handshake may mean that no pod runs yet. The config does not say so of the pod of a user. */
  #mayNotRun(): boolean {
    if (this.#isDown()) return true
    const server = this.#options.server()
    const nowMs = this.#options.clock.elapsed()
    if (nowMs < this.#notReadyAtMs + SETTLE_MS) return true
    if (!instanceOf(server) || this.#wasReached) return false
    return nowMs < (this.#requestedAtMs ?? nowMs) + server.limits.startTimeoutMs
  }

  /**
   * Whether the server accepts connections and, if that may be a proxy without a pod, sessions. The fault of another failed handshake is
   * left to the calls.
   */
  async #reaches(url: string, caller: Caller, ended: AbortSignal): Promise<boolean> {
    const { clock } = this.#options
    if (clock.elapsed() < this.#nextAtMs) return false
    if (!(await accepts(url, clock, ended))) {
      this.#refusal = undefined
      return false
    }
    if (!this.#mayNotRun()) return true
    if (await this.#opens(caller, ended)) {
      this.#refusal = undefined
      this.#refusals = 0
      return true
    }
    this.#nextAtMs = clock.elapsed() + backoffMs(RETRY, this.#refusals++, Math.random)
    return false
  }

  async #opens(caller: Caller, ended: AbortSignal): Promise<boolean> {
    const { clock, open } = this.#options
    const limit = deadline(clock, HANDSHAKE_MS, 'The handshake takes long', ended)
    try {
      await open(caller, limit.signal)
      this.#wasReached = true
      return true
    } catch (error) {
      return limit.signal.aborted || this.unsent(error) === error
    } finally {
      limit.clear()
    }
  }

  /** Resolves once the server answers. Throws Fault `upstream_asleep` after `withinMs`, and the Faults of `WakeRequests.hold`. */
  wake(withinMs: number, caller: Caller, signal: AbortSignal): Promise<void> {
    const { wakes, clock, server } = this.#options
    const { name, endpoint } = server()
    const { url, instance } = endpoint.kind === 'http' ? endpoint : { url: '', instance: undefined }
    this.#requestedAtMs ??= clock.elapsed()
    const trustedUntilMs = clock.elapsed() + TRUST_MS
    const mayRun = () =>
      instance
        ? !fullFault(server(), instance)
        : server().sleep?.asleep !== true || clock.elapsed() >= trustedUntilMs
    const reach = async (ended: AbortSignal) => mayRun() && this.#reaches(url, caller, ended)
    const fault = () => this.fault()
    if (!instance) return wakes.hold({ server: name }, { reach, withinMs, fault }, signal)
    const refusal = () => fullFault(server(), instance)
    const options: HoldOptions = { reach, withinMs, fault, refusal, firstTryMs: FIRST_TRY_MS }
    return wakes.hold({ server: name, instance: instance.user }, options, signal)
  }
}

function instanceOf({ endpoint }: RouterServer): Instance | undefined {
  return endpoint.kind === 'http' ? endpoint.instance : undefined
}

function problemOf({ users }: RouterServer, { user }: Instance): UserProblem | undefined {
  return users?.problems?.[idOfUser(user)]
}

function instanceFault(server: RouterServer, instance: Instance): Fault {
  const problem = problemOf(server, instance)?.message
  const seconds = Math.ceil(server.limits.startTimeoutMs / 1_000)
  const details = { seconds, ...(problem !== undefined && { problem }), ofUser: true }
  return new Fault('upstream_asleep', 'the pod of the user could not be started', {
    retryable: true,
    details,
  })
}

function fullFault(server: RouterServer, instance: Instance): Fault | undefined {
  return problemOf(server, instance)?.isFull && tooManyUsers(server.users?.max ?? 0)
}

/** The fault for a new user of a server that has `max` users already. */
export function tooManyUsers(max: number): Fault {
  const details = { reason: 'TooManyUsers', max }
  return new Fault('user_refused', `the server has ${max} users, the most that it may have`, { details })
}

/** If the server is still `asleep` and not `waking`, no operator has noticed the call, or the operator cannot write to the API server. */
function asleepFault({ sleep, limits }: RouterServer): Fault {
  const { asleep = true, problem } = sleep ?? {}
  const seconds = Math.ceil(limits.startTimeoutMs / 1_000)
  const details = { seconds, ...(problem !== undefined && { problem }), heard: !asleep }
  return new Fault('upstream_asleep', 'the server is asleep and could not be woken', {
    retryable: true,
    details,
  })
}
