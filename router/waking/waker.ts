/** Lets calls to a server that may sleep wait until the server answers, or until it could not be woken in time. */
import type { Clock } from '../../core/async.ts'
import type { Instance, RouterServer } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import { unsentFault } from '../../core/mcp/client/http/faults.ts'
import { idOfUser } from '../../core/mcp/user.ts'
import { accepts } from './reach.ts'
import type { HoldOptions, WakeRequests } from './wake-requests.ts'

export type WakerOptions = {
  wakes: WakeRequests
  clock: Clock
  /** The server as the newest config has it. */
  server: () => RouterServer
}

/** When the host name of a user's pod is first looked up: by then, an operator that was notified has created the Service of the pod. */
const FIRST_TRY_MS = 700
/**
 * How long connections are not tried while the config says that the server sleeps: a service mesh accepts them, and the operator would not
 * hear of the call. Afterwards they are, since a router that cannot reach the API server does not read that the server was woken.
 */
const TRUST_MS = 5_000

export class Waker {
  readonly #options: WakerOptions

  constructor(options: WakerOptions) {
    this.#options = options
  }

  /** Whether its calls have to wait here while it sleeps, or while the pod of their user is created. A sidecar's calls wait at the gateway. */
  get isNeeded(): boolean {
    const { sleep, endpoint } = this.#options.server()
    return endpoint.kind === 'http' && (sleep !== undefined || endpoint.instance !== undefined)
  }

  /** The fault of a call whose session could not be opened: it was not sent if nothing runs behind a proxy. */
  unsent(fault: unknown): unknown {
    return this.isNeeded ? unsentFault(fault) : fault
  }

  /** The fault of a call whose server, or the pod of its user, could not be started in time. */
  fault(): Fault {
    const server = this.#options.server()
    const { endpoint } = server
    const instance = endpoint.kind === 'http' ? endpoint.instance : undefined
    return instance ? instanceFault(server, instance) : asleepFault(server)
  }

  /** Resolves once the server accepts connections. Throws Fault `upstream_asleep` after `withinMs`, and the Faults of `WakeRequests.hold`. */
  wake(withinMs: number, signal: AbortSignal): Promise<void> {
    const { wakes, clock, server } = this.#options
    const { name, endpoint } = server()
    const { url, instance } = endpoint.kind === 'http' ? endpoint : { url: '', instance: undefined }
    const trustedUntilMs = clock.elapsed() + TRUST_MS
    const mayRun = () =>
      instance
        ? !fullFault(server(), instance)
        : server().sleep?.asleep !== true || clock.elapsed() >= trustedUntilMs
    const reach = async (ended: AbortSignal) => mayRun() && accepts(url, clock, ended)
    const fault = () => this.fault()
    if (!instance) return wakes.hold({ server: name }, { reach, withinMs, fault }, signal)
    const refusal = () => fullFault(server(), instance)
    const options: HoldOptions = { reach, withinMs, fault, refusal, firstTryMs: FIRST_TRY_MS }
    return wakes.hold({ server: name, instance: instance.user }, options, signal)
  }
}

function instanceFault({ users, limits }: RouterServer, { user }: Instance): Fault {
  const problem = users?.problems?.[idOfUser(user)]?.message
  const seconds = Math.ceil(limits.startTimeoutMs / 1_000)
  const details = { seconds, ...(problem !== undefined && { problem }), ofUser: true }
  return new Fault('upstream_asleep', 'the pod of the user could not be started', {
    retryable: true,
    details,
  })
}

function fullFault({ users }: RouterServer, { user }: Instance): Fault | undefined {
  return users?.problems?.[idOfUser(user)]?.isFull && tooManyUsers(users.max)
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
