/** Opens the router's ports: one for agents and, in a cluster, an admin port for the operator, metrics and sidecars. */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../core/async.ts'
import type { JsonObject } from '../core/json.ts'
import type { Identity } from '../core/mcp/identity.ts'
import { createClients, type FrontClients } from '../core/mcp/server/clients.ts'
import { createSessions, type SignedSessions } from '../core/mcp/server/session-ids.ts'
import { type Access, createAccess } from './access/access.ts'
import type { AccessStates } from './access/access-state.ts'
import type { Authentication } from './access/authentication.ts'
import { createFailedLogins } from './access/failed-logins.ts'
import { createInternalCredentials, type InternalCredentials } from './access/internal-credential.ts'
import { createLimits, type Limits } from './access/limits.ts'
import type { Audit } from './audit/audit.ts'
import type { Catalog } from './catalog/catalog.ts'
import { type AdminOptions, serveAdmin } from './http/admin.ts'
import type { HttpServer } from './http/app.ts'
import type { Identify } from './http/mcp-route.ts'
import { ownerAt } from './http/owner.ts'
import { type ServeOptions, serve } from './http/serve.ts'
import { createStanding, type Standing } from './http/standing.ts'
import { explainSearch } from './meta/finding/search-catalog.ts'
import { createHandler, type HandlerOptions } from './meta/handler.ts'
import { createKeptResults, type KeptResults } from './meta/results/kept-results.ts'
import type { RouterMetrics } from './metrics.ts'
import type { AdminPort, RouterOptions } from './router.ts'
import type { Semantic } from './semantic/semantic.ts'
import type { Newest } from './source/newest.ts'
import { debugStatus, routerStatus } from './status.ts'

export type PortsOptions = Pick<HandlerOptions, 'pool' | 'observer'> & {
  options: RouterOptions
  clock: Clock
  metrics: RouterMetrics
  served: Newest<Catalog>
  semantic: Pick<Semantic, 'encodeQuery' | 'status'>
  authentication: Authentication
  states: AccessStates
  audit: Audit
  /** Aborts when the router closes. */
  closing: AbortSignal
}

export type Ports = { agents: HttpServer; admin?: HttpServer; results: KeptResults }

/** Owner name used when there are no replicas. */
const SOLE_OWNER = 'local'

/** Opens the ports. Throws a Fault `unavailable` if a port cannot be opened. */
export async function openPorts(given: PortsOptions): Promise<Ports> {
  const { options, served, pool, observer, semantic, authentication } = given
  const { encodeQuery } = semantic
  const { host, port, allowedHosts = [], admin, sessionKey: key = randomBytes(32) } = options
  const shared = sharedOptions(given)
  const bound = boundTo(given, key, port)
  const credentials = createInternalCredentials(key, given.clock)
  const results = keptResults(given, key, credentials, bound.owner)
  const current = () => served.current() as Catalog
  const { watch } = served
  const { clients } = bound
  const access = createAccess()
  const limits = createLimits(given.clock)
  const handler = createHandler({
    current,
    watch,
    access,
    limits,
    pool,
    observer,
    encodeQuery,
    results,
    clients,
  })
  const config = () => served.current()?.config
  const configSeenBy = (identity: Identity) => access(current(), identity).config
  const identify: Identify = (config, authorization) =>
    (authorization === undefined ? options.assumed : credentials.read(authorization)) ??
    authentication.identify(config, authorization)
  const standing = createStanding(identify)
  void reviewAtSwaps(standing, given)
  const agents: ServeOptions = {
    ...shared,
    ...bound,
    host,
    port,
    allowedHosts,
    handler,
    config,
    configSeenBy,
    identify,
    standing,
    limits,
    failedLogins: createFailedLogins(given.clock),
    audit: given.audit,
  }
  if (!admin) return { agents: await serve(agents), results }
  const opened = await serve({ ...agents, metrics: undefined, debugStatus: undefined })
  try {
    const adminOpened = await serveAdmin({
      ...shared,
      ...adminOptions(given, admin, key, { access, limits }),
    })
    return { agents: opened, admin: adminOpened, results }
  } catch (error) {
    await opened.close(0)
    throw error
  }
}

/** Until the router closes. */
async function reviewAtSwaps(
  standing: Standing,
  { served, options: { log }, closing }: PortsOptions,
): Promise<void> {
  for await (const { config } of served.watch(closing))
    await standing
      .review(config.access)
      .catch(err => log.error({ err }, 'open requests could not be reviewed'))
}

function sharedOptions({ options, clock, metrics, served, pool, semantic }: PortsOptions) {
  const { ready, debugStatus: more, log, lingerMs } = options
  return {
    ready: () =>
      served.current() ? (ready?.() ?? { ready: true }) : { ready: false, reason: 'no catalog yet' },
    debugStatus:
      more &&
      ((): JsonObject => ({
        ...debugStatus(served.current(), pool.status(), semantic.status()),
        ...more(),
      })),
    explain: async (query: string, limit: number, signal: AbortSignal) => {
      const catalog = served.current()
      const why =
        catalog && (await explainSearch({ catalog, encodeQuery: semantic.encodeQuery }, query, limit, signal))
      return { ...why }
    },
    metrics: async () => ({
      contentType: metrics.registry.contentType,
      text: await metrics.registry.metrics(),
    }),
    log,
    clock,
    lingerMs,
  }
}

/** Creates a port's sessions, whose ids name this replica if others can reach it, and the state kept for its clients. */
function boundTo(
  { options: { address }, clock, served }: PortsOptions,
  key: string | Uint8Array,
  port: number,
): { sessions: SignedSessions; clients: FrontClients; owner?: string } {
  const owner = address === undefined ? undefined : ownerAt(address, port)
  const sessions = createSessions({ key, owner: owner ?? SOLE_OWNER, clock })
  const tellsApart = () => served.current()?.config.access.auth !== undefined
  return { sessions, clients: createClients({ clock, signer: sessions.signer, tellsApart }), owner }
}

/** Creates the store of texts that were cut out of results; every replica can read them by their handles. */
function keptResults(
  { options: { log }, clock }: PortsOptions,
  key: string | Uint8Array,
  credentials: InternalCredentials,
  owner = SOLE_OWNER,
) {
  return createKeptResults({ key, owner, clock, log, credentials })
}

function adminOptions(
  given: PortsOptions,
  { host, port, pod, gateway, missing, authenticate }: AdminPort,
  key: string | Uint8Array,
  { access, limits }: { access: Access; limits: Limits },
): Pick<AdminOptions, 'host' | 'port' | 'status' | 'sidecars'> {
  const { served, pool, observer, semantic, metrics, states } = given
  const current = () => served.current() as Catalog
  const bound = boundTo(given, key, port)
  const { clients } = bound
  return {
    host,
    port,
    status: () =>
      routerStatus(
        { pod, gateway, missing: missing(), search: semantic.status(), tokens: metrics.tokens() },
        served.current(),
        pool.status(),
        states,
      ),
    sidecars: authenticate && {
      authenticate,
      served,
      seenBy: access,
      handler: createHandler({
        current,
        access: exposing(access),
        limits,
        pool,
        observer,
        clients,
      }),
      ...bound,
    },
  }
}

/** The catalog as callers see it, with each server's endpoint enabled: pods' routers need these even if agents do not get them. */
function exposing(access: Access): Access {
  let last: { of: Catalog; made: Catalog } | undefined
  return (of, identity) => {
    if (last?.of !== of) last = { of, made: { ...of, config: { ...of.config, exposeServers: true } } }
    return access(last.made, identity)
  }
}
