/** Leader election by a Lease: of all processes that call it, one at a time leads. */
import type { V1LeaseSpec } from '@kubernetes/client-node'
import { type Clock, delay, systemClock } from '../async.ts'
import { deadline } from '../deadline.ts'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import { ApiError, isConflict, isNotFound } from './api-error.ts'
import type { KubeClient } from './client.ts'
import type { JsonOf, KubeObject } from './object.ts'

/** As client-go has them: others wait 15 s for a silent holder, which itself gives up after 10 s. */
const LEASE_SECONDS = 15
const RENEW_LIMIT_MS = 10_000
const RETRY_MS = 2_000
const RETRY_JITTER = 0.2
/** One silent request must leave time for another. */
export const LEASE_REQUEST_TIMEOUT_MS = 4_000

export type LeaseOptions = {
  /** A client of its own, with LEASE_REQUEST_TIMEOUT_MS, so that nothing else stands in its way. */
  client: Pick<KubeClient, 'get' | 'create' | 'replace'>
  namespace: string
  name: string
  /** Who we are, for ever unique: a pod's name with a random part. */
  identity: string
  log: Log
  clock?: Clock
  random?: () => number
}

type Lease = KubeObject & { spec?: JsonOf<V1LeaseSpec> }

/**
 * Waits for the lease, then runs `lead` and holds the lease until that ends. When `signal` aborts, the signal that `lead` was given
 * does too; the lease is kept while `lead` comes to its end, then released, and the promise resolves. When the lease is lost, that
 * signal aborts with an ApiError and the promise rejects with it at once: the process should exit, for another one leads already.
 */
export async function leadWhileHolding(
  options: LeaseOptions,
  lead: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const candidate = new Candidate(options)
  if (!(await candidate.acquire(signal))) return
  const { name, identity, log } = options
  log.info({ lease: name, identity }, 'leading')
  const loss = new AbortController()
  const ended = new AbortController()
  const work = lead(AbortSignal.any([signal, loss.signal])).finally(() => ended.abort())
  try {
    await Promise.race([work, candidate.hold(ended.signal)])
    await work
  } catch (error) {
    if (!ended.signal.aborted) loss.abort(error)
    throw error
  } finally {
    work.catch(() => {}) // told already, or too late to matter
    if (ended.signal.aborted) await candidate.release()
  }
}

/** What one process knows of the lease. */
class Candidate {
  readonly #options: LeaseOptions
  readonly #clock: Clock
  /** The lease as last read or written, and when we first saw it so: clocks of others are not trusted. */
  #lease: Lease | undefined
  #seenAt = 0
  #renewedAt = 0

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  /** True once it is ours; false where `signal` aborts before. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      try {
        await this.#read(signal)
        if (!this.#isHeldByAnother() && (await this.#write(signal))) return true
      } catch (error) {
        if (!signal.aborted) this.#warn(error, 'lease not acquired')
      }
      await this.#pause(signal)
    }
    return false
  }

  /** Renews until `signal` aborts; rejects once it could not for 10 s, or another process took the lease. */
  async hold(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#pause(signal)
      if (signal.aborted) return
      await this.#renew(signal)
    }
  }

  /** Gives the lease up if it is still ours, so that another process need not wait; if that fails it ends by itself. */
  async release(): Promise<void> {
    const limit = deadline(this.#clock, LEASE_REQUEST_TIMEOUT_MS, 'the lease was not released in time')
    try {
      await this.#read(limit.signal) // a renewal may have been under way
      if (this.#lease?.spec?.holderIdentity === this.#options.identity) await this.#write(limit.signal, '')
    } catch (error) {
      this.#warn(error, 'lease not released')
    } finally {
      limit.clear()
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const leftMs = this.#renewedAt + RENEW_LIMIT_MS - this.#clock.now()
    const limit = deadline(this.#clock, Math.max(leftMs, 0), 'the lease was not renewed in time', signal)
    try {
      if (await this.#write(limit.signal)) return
      // somebody wrote it: perhaps we did, in a request that had no answer
      await this.#read(limit.signal)
    } catch (error) {
      if (signal.aborted) return
      this.#warn(error, 'lease not renewed')
    } finally {
      limit.clear()
    }
    const holder = this.#lease?.spec?.holderIdentity
    if (holder && holder !== this.#options.identity) throw lost(`${holder} holds the lease now`)
    if (this.#clock.now() - this.#renewedAt >= RENEW_LIMIT_MS)
      throw lost(`The lease could not be renewed for ${RENEW_LIMIT_MS / 1_000} s`)
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { client, namespace, name } = this.#options
    const ref = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace, name }
    const lease = await client.get<Lease>(ref, signal)
    if (lease?.metadata.resourceVersion === this.#lease?.metadata.resourceVersion) return
    this.#lease = lease
    this.#seenAt = this.#clock.now()
  }

  #isHeldByAnother(): boolean {
    const { holderIdentity, leaseDurationSeconds = LEASE_SECONDS } = this.#lease?.spec ?? {}
    if (!holderIdentity || holderIdentity === this.#options.identity) return false
    return this.#clock.now() - this.#seenAt < leaseDurationSeconds * 1_000
  }

  /** Writes the lease with us, or nobody, as its holder; false where somebody else wrote or deleted it since we read it. */
  async #write(signal: AbortSignal, holder = this.#options.identity): Promise<boolean> {
    const started = this.#clock.now()
    const { client } = this.#options
    const next = this.#next(holder)
    try {
      this.#lease = await (this.#lease ? client.replace(next, signal) : client.create(next, signal))
    } catch (error) {
      if (isConflict(error) || isNotFound(error) || isTaken(error)) return false
      throw error
    }
    this.#seenAt = started
    this.#renewedAt = started
    return true
  }

  #next(holderIdentity: string): Lease {
    const { namespace, name } = this.#options
    const { spec, metadata = { namespace, name } } = this.#lease ?? {}
    const now = `${new Date(this.#clock.now()).toISOString().slice(0, -1)}000Z`
    const taken = spec?.holderIdentity !== holderIdentity && holderIdentity !== ''
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata,
      spec: {
        ...spec,
        holderIdentity,
        leaseDurationSeconds: holderIdentity === '' ? 1 : LEASE_SECONDS,
        renewTime: now,
        acquireTime: taken ? now : (spec?.acquireTime ?? now),
        leaseTransitions: (spec?.leaseTransitions ?? 0) + (taken && this.#lease ? 1 : 0),
      },
    }
  }

  #pause(signal: AbortSignal): Promise<void> {
    const random = this.#options.random ?? Math.random
    return delay(this.#clock, RETRY_MS * (1 + RETRY_JITTER * random()), signal).catch(() => {})
  }

  #warn(error: unknown, message: string): void {
    this.#options.log.warn({ lease: this.#options.name, error: messageOf(error) }, message)
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof ApiError && error.reason === 'AlreadyExists'
}

function lost(message: string): ApiError {
  return new ApiError(0, 'LeaseLost', message)
}
