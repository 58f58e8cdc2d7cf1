/** Leader election by a Lease: at most one process leads at a time. */
import type { V1LeaseSpec } from '@kubernetes/client-node'
import { type Clock, delay, systemClock } from '../async.ts'
import { deadline } from '../deadline.ts'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import { ApiError, isConflict, isNotFound } from './api-error.ts'
import type { KubeClient } from './client.ts'
import type { JsonOf, KubeObject } from './object.ts'

/** The defaults of client-go: other candidates wait 15 s for a holder that does not renew; the holder itself gives up after 10 s. */
const LEASE_SECONDS = 15
const RENEW_LIMIT_MS = 10_000
const RETRY_MS = 2_000
const RETRY_JITTER = 0.2
/** A request without an answer must leave time for another attempt. */
export const LEASE_REQUEST_TIMEOUT_MS = 4_000

export type LeaseOptions = {
  /** A separate client with LEASE_REQUEST_TIMEOUT_MS, so that renewals do not wait for other requests. */
  client: Pick<KubeClient, 'get' | 'create' | 'replace'>
  namespace: string
  name: string
  /** A unique name of this process that is never used again: a pod's name with a random part. */
  identity: string
  log: Log
  clock?: Clock
  random?: () => number
}

type Lease = KubeObject & { spec?: JsonOf<V1LeaseSpec> }

/**
 * Acquires the lease, then runs `lead` and renews the lease until `lead` has finished. When `signal` aborts, so does the signal passed
 * to `lead`; the lease is renewed until `lead` finishes, then released, and the promise resolves. When the lease is lost, the signal
 * passed to `lead` aborts with an ApiError and the promise rejects with it immediately: the process should exit, because another one
 * may already lead.
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
    work.catch(() => {}) // This error was thrown above, or the lost lease is thrown instead.
    if (ended.signal.aborted) await candidate.release()
  }
}

/** The lease as one process sees it. */
class Candidate {
  readonly #options: LeaseOptions
  readonly #clock: Clock
  /** The lease as last read or written, and when this process first saw it in that state: other machines' clocks are not trusted. */
  #lease: Lease | undefined
  #seenAt = 0
  /** When the last successful write began. */
  #renewedAt = 0

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  /** Resolves with true once this process holds the lease, with false if `signal` aborts first. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    let hasTried = false
    while (!signal.aborted) {
      try {
        await this.#read(signal)
        if (!this.#isHeldByAnother()) {
          hasTried = true
          // Not aborted by `signal`: an abandoned write may still take the lease after it was released.
          if ((await this.#write()) && !signal.aborted) return true
        }
      } catch (error) {
        if (!signal.aborted) this.#warn(error, 'lease not acquired')
      }
      await this.#pause(signal)
    }
    // A write whose answer was lost may have taken the lease, too.
    if (hasTried) await this.release()
    return false
  }

  /** Renews until `signal` aborts; rejects if that failed for 10 s, or another process has taken the lease. */
  async hold(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#pause(signal)
      if (signal.aborted) return
      await this.#renew(signal)
    }
  }

  /** Releases the lease if this process still holds it, so that another one need not wait. If this fails, the lease expires. */
  async release(): Promise<void> {
    const limit = deadline(this.#clock, LEASE_REQUEST_TIMEOUT_MS, 'the lease was not released in time')
    try {
      await this.#read(limit.signal) // A renewal may have been in flight.
      if (this.#lease?.spec?.holderIdentity === this.#options.identity) await this.#write(limit.signal, '')
    } catch (error) {
      this.#warn(error, 'lease not released')
    } finally {
      limit.clear()
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const leftMs = this.#renewedAt + RENEW_LIMIT_MS - this.#clock.elapsed()
    const limit = deadline(this.#clock, Math.max(leftMs, 0), 'the lease was not renewed in time', signal)
    try {
      if (await this.#write(limit.signal)) return
      // The lease has changed: perhaps by our own request whose answer was lost.
      await this.#read(limit.signal)
    } catch (error) {
      if (signal.aborted) return
      this.#warn(error, 'lease not renewed')
    } finally {
      limit.clear()
    }
    const holder = this.#lease?.spec?.holderIdentity
    if (holder && holder !== this.#options.identity) throw lost(`${holder} holds the lease now`)
    if (this.#clock.elapsed() - this.#renewedAt >= RENEW_LIMIT_MS)
      throw lost(`The lease could not be renewed for ${RENEW_LIMIT_MS / 1_000} s`)
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { client, namespace, name } = this.#options
    const ref = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace, name }
    const lease = await client.get<Lease>(ref, signal)
    if (lease?.metadata.resourceVersion === this.#lease?.metadata.resourceVersion) return
    this.#lease = lease
    this.#seenAt = this.#clock.elapsed()
  }

  #isHeldByAnother(): boolean {
    const { holderIdentity, leaseDurationSeconds = LEASE_SECONDS } = this.#lease?.spec ?? {}
    if (!holderIdentity || holderIdentity === this.#options.identity) return false
    return this.#clock.elapsed() - this.#seenAt < leaseDurationSeconds * 1_000
  }

  /** Writes the lease with this process, or nobody, as the holder; false if it was changed or deleted since it was read. */
  async #write(signal?: AbortSignal, holder = this.#options.identity): Promise<boolean> {
    const started = this.#clock.elapsed()
    const { client } = this.#options
    const next = this.#leaseFor(holder)
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

  #leaseFor(holderIdentity: string): Lease {
    const { namespace, name } = this.#options
    const { spec, metadata = { namespace, name } } = this.#lease ?? {}
    const now = `${new Date(this.#clock.now()).toISOString().slice(0, -1)}000Z`
    const changesHolder = spec?.holderIdentity !== holderIdentity && holderIdentity !== ''
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata,
      spec: {
        ...spec,
        holderIdentity,
        leaseDurationSeconds: holderIdentity === '' ? 1 : LEASE_SECONDS,
        renewTime: now,
        acquireTime: changesHolder ? now : (spec?.acquireTime ?? now),
        leaseTransitions: (spec?.leaseTransitions ?? 0) + (changesHolder && this.#lease ? 1 : 0),
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
