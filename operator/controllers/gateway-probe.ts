/** The gateway-probe controller: reads each router's status and checks whether the gateway's URL answers an MCP handshake. */
import type { V1Pod } from '@kubernetes/client-node'
import { inTurns } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import { feedName } from '../../core/catalog/object-names.ts'
import { deadline, waitFor } from '../../core/deadline.ts'
import { Fault } from '../../core/errors.ts'
import { canonicalJson } from '../../core/json.ts'
import { type Kube, keyOf } from '../../core/kube/object.ts'
import { isPodReady } from '../../core/kube/pod.ts'
import { connectSdkClient } from '../../core/mcp/client/sdk-client.ts'
import type { OperatorContext } from '../operator.ts'
import { MAX_ROUTERS } from '../plan/gateway-status.ts'
import { gatewayObjectName } from '../plan/names.ts'
import type { GatewayWorld, RouterReport } from '../plan/plan.ts'
import type { Caches } from '../runtime/caches.ts'
import type { Controller } from '../runtime/controller.ts'
import { Queue } from '../runtime/queue.ts'
import { routerPods } from '../runtime/router-pods.ts'
import { RouterLag } from './router-lag.ts'
import { READS_AT_ONCE, type RouterStatus, readRouterStatus } from './router-report.ts'

const WORKERS = 4
/** How often routers are asked while one of them is out of date, or still loads its encoder or keys. */
const BEHIND_POLL_MS = 2_000
const POLL_MS = 30_000
/** A router needs a moment to load a change. */
const CHANGED_POLL_MS = 200
const HANDSHAKE_LIMIT_MS = 5_000
const TOO_MANY_REQUESTS = 429
const HANDSHAKE_RETRY = { firstMs: 200, longestMs: 60_000 }

/** Result of probing a gateway. */
export type Seen = Pick<GatewayWorld, 'reports' | 'handshake' | 'exposedTokens' | 'search' | 'access'>

export type GatewayProbe = {
  controller: Controller
  /** The latest result; undefined before the first probe. */
  last(key: string): Seen | undefined
  /** The result of the first probe. Rejects if `signal` aborts before. */
  first(key: string, signal: AbortSignal): Promise<Seen>
}

export type GatewayProbeOptions = Pick<OperatorContext, 'caches' | 'clock' | 'random'> & {
  /** Called when a result differs from the one before. */
  onChange: (key: string) => void
  connect?: typeof connectSdkClient
}

/** What is remembered of one gateway. */
type Memory = {
  first: PromiseWithResolvers<Seen>
  seen?: Seen
  /** Versions of the objects that calls pass through, at the last handshake. */
  handshakeState?: string
  failures: number
  nextHandshakeAt: number
  lag: RouterLag
}

export function createGatewayProbe(options: GatewayProbeOptions): GatewayProbe {
  const { caches, clock, random } = options
  const queue = new Queue({ clock, random })
  const memories = new Map<string, Memory>()
  caches.gateways.onChange((before, now) => {
    const object = now ?? before
    if (object) queue.add(keyOf(object))
  })
  caches.onOwnedChange(({ kind, namespace, name }) => {
    if (kind === 'McpGateway') queue.addAfter(`${namespace}/${name}`, CHANGED_POLL_MS)
  })
  const memoryOf = (key: string) => {
    const memory = memories.get(key) ?? {
      first: Promise.withResolvers<Seen>(),
      failures: 0,
      nextHandshakeAt: 0,
      lag: new RouterLag(),
    }
    memories.set(key, memory)
    return memory
  }
  const reconcile: Controller['reconcile'] = async (key, signal) => {
    if (!caches.gateways.get(key)) {
      memories.get(key)?.first.resolve({ reports: [] })
      memories.delete(key)
      return undefined
    }
    const memory = memoryOf(key)
    const { seen, behind } = await probe(options, key, memory, signal)
    const changed = canonicalJson(seen) !== canonicalJson(memory.seen)
    memory.seen = seen
    memory.first.resolve(seen)
    if (changed) options.onChange(key)
    const pollMs = behind ? BEHIND_POLL_MS : POLL_MS
    const handshakeMs =
      seen.handshake && !seen.handshake.ok ? memory.nextHandshakeAt - clock.elapsed() : pollMs
    return { afterMs: Math.max(Math.min(pollMs, handshakeMs), 0) }
  }
  return {
    controller: { name: 'gateway-probe', queue, workers: WORKERS, reconcile },
    last: key => memories.get(key)?.seen,
    first(key, signal) {
      queue.add(key)
      return waitFor(memoryOf(key).first.promise, signal)
    },
  }
}

async function probe(
  options: GatewayProbeOptions,
  key: string,
  memory: Memory,
  signal: AbortSignal,
): Promise<{ seen: Seen; behind: boolean }> {
  const { caches, clock } = options
  const pods = routerPods(caches, placeOf(key)).filter(isRunning).slice(0, MAX_ROUTERS)
  const [handshake, statuses] = await Promise.all([
    handshakeWith(options, key, memory, signal),
    inTurns(pods, READS_AT_ONCE, pod => readRouterStatus(pod.status?.podIP ?? '', clock, signal)),
  ])
  signal.throwIfAborted()
  const newest = generationOf(caches, key) ?? 0
  memory.lag.keep(pods.map(({ metadata }) => metadata.name))
  const seen = { newest, now: clock.elapsed(), lag: memory.lag }
  const reports = pods.flatMap((pod, at) => reportOf(pod, statuses[at], seen) ?? [])
  reports.sort((a, b) => (a.pod < b.pod ? -1 : 1))
  const exposedTokens = statuses.find(one => one?.exposedTokens !== undefined)?.exposedTokens
  const { search, loading } = searchOf(statuses)
  const access = accessOf(statuses)
  const fetching = access?.keys.some(({ state }) => state === 'pending') ?? false
  const behind =
    loading || fetching || reports.some(({ generation, stale }) => stale || (generation ?? -1) < newest)
  return { seen: { reports, handshake, exposedTokens, search, access }, behind }
}

/**
 * The report of a router; undefined while it is still starting. A router itself reports that the API server refuses it. That it gets no
 * changes although the API server answers others can only be seen here, by comparing generations.
 */
function reportOf(
  pod: Kube<V1Pod>,
  { generation, stale }: RouterStatus = {},
  { newest, now, lag }: { newest: number; now: number; lag: RouterLag },
): RouterReport | undefined {
  const { name } = pod.metadata
  if (generation === undefined) {
    if (stale === undefined && !isPodReady(pod)) return undefined
    return { pod: name, ...(stale !== undefined && { stale }) }
  }
  const missed = lag.overdue(name, generation, newest, now)
  const why = stale ?? (missed && `it serves generation ${generation}, not ${missed}`)
  return { pod: name, generation, ...(why && { stale: why }) }
}

/** Combines the keys that every router reports, since each fetches its own, with the access report of the router with the newest catalog. */
function accessOf(statuses: readonly (RouterStatus | undefined)[]): Seen['access'] {
  const all = statuses.flatMap(one =>
    one?.access ? [{ ...one.access, generation: one.generation ?? 0 }] : [],
  )
  const [newest] = all.toSorted((a, b) => b.generation - a.generation)
  return newest && { keys: all.flatMap(({ keys }) => keys), report: newest.report }
}

/** Reports the router with a problem, if any. Routers that still load their encoder are skipped and asked again soon. */
function searchOf(statuses: readonly (RouterStatus | undefined)[]): {
  search: Seen['search']
  loading: boolean
} {
  const all = statuses.flatMap(one => one?.search ?? [])
  const settled = all.filter(({ semantic, pending }) => semantic !== 'off' || pending === 0)
  const chosen =
    settled.find(({ semantic }) => semantic === 'off') ?? settled.find(({ reason }) => reason) ?? settled[0]
  const { semantic, reason } = chosen ?? {}
  return { search: semantic && { semantic, ...(reason && { reason }) }, loading: settled.length < all.length }
}

/** The newest generation of a gateway's feed: its ConfigMap's resourceVersion. */
export function generationOf({ configMaps }: Pick<Caches, 'configMaps'>, key: string): number | undefined {
  const { namespace, name } = placeOf(key)
  const version = configMaps.get(`${namespace}/${feedName(name)}`)?.metadata.resourceVersion
  return version === undefined ? undefined : Number(version)
}

/**
 * One MCP handshake for each state of the Deployment, Service and NetworkPolicy, repeated while it fails: one that succeeded costs users a part of
 * their limits, and a line of the audit stream. Returns undefined while no router is available.
 */
async function handshakeWith(
  options: GatewayProbeOptions,
  key: string,
  memory: Memory,
  signal: AbortSignal,
): Promise<Seen['handshake']> {
  const { caches, clock } = options
  const { namespace, name } = placeOf(key)
  const object = `${namespace}/${gatewayObjectName(name)}`
  const { metadata, status } = caches.deployments.get(object) ?? {}
  if (!status?.availableReplicas) {
    memory.handshakeState = undefined
    memory.failures = 0
    return undefined
  }
  const service = caches.services.get(object)?.metadata
  const policy = caches.networkPolicies.get(object)?.metadata
  // Services have no generation.
  const state = canonicalJson([
    ...[metadata?.uid, metadata?.generation, policy?.uid, policy?.generation],
    ...[service?.uid, service?.resourceVersion],
  ])
  const last = memory.handshakeState === state ? memory.seen?.handshake : undefined
  const waitMs = memory.nextHandshakeAt - clock.elapsed()
  if (last && (last.ok || waitMs > 0)) return last
  const handshake = await tryHandshake(options, key, memory, signal)
  // An attempt without a result, which threw, is repeated.
  memory.handshakeState = state
  return handshake
}

async function tryHandshake(
  { caches, clock, random, connect = connectSdkClient }: GatewayProbeOptions,
  key: string,
  memory: Memory,
  signal: AbortSignal,
): Promise<NonNullable<Seen['handshake']>> {
  const { namespace, name } = placeOf(key)
  const url = `http://${gatewayObjectName(name)}.${namespace}.svc/mcp`
  const limit = deadline(
    clock,
    HANDSHAKE_LIMIT_MS,
    'The gateway does not answer the handshake in time',
    signal,
  )
  try {
    const client = await connect(url, limit.signal)
    await client.close()
  } catch (error) {
    if (!(error instanceof Fault) || signal.aborted) throw error
    // A gateway with `auth` refuses the operator, which has no credential, and one with limits may refuse anybody. This still proves that it answers.
    const isRefusal = error.code === 'upstream_auth_required' && asksForCredentials(caches, key)
    if (!isRefusal && error.details.status !== TOO_MANY_REQUESTS) {
      memory.nextHandshakeAt = clock.elapsed() + backoffMs(HANDSHAKE_RETRY, memory.failures++, random)
      return { ok: false, message: error.message }
    }
  } finally {
    limit.clear()
  }
  memory.failures = 0
  return { ok: true }
}

function asksForCredentials({ gateways }: Pick<Caches, 'gateways'>, key: string): boolean {
  const { spec } = (gateways.get(key) ?? {}) as { spec?: { auth?: unknown } }
  return spec?.auth !== undefined
}

function placeOf(key: string): { namespace: string; name: string } {
  const [namespace = '', name = ''] = key.split('/')
  return { namespace, name }
}

/** Includes routers that are not ready, since their status says why. */
function isRunning({ metadata, status }: Kube<V1Pod>): boolean {
  return !metadata.deletionTimestamp && status?.phase === 'Running' && Boolean(status.podIP)
}
