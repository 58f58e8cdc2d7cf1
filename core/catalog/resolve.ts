/** Resolves manifests and the observed state of their servers into the config of a router. Pure. */
import { REASON } from '../../crds/conditions.ts'
import { type McpGateway, mcpGatewaySchema } from '../../crds/gateway.ts'
import { API_VERSION } from '../../crds/object-meta.ts'
import { parseBytes, parseDuration } from '../../crds/quantity.ts'
import type { McpScript } from '../../crds/script.ts'
import type { McpServer } from '../../crds/server.ts'
import { compare } from '../compare.ts'
import type { Problem } from '../errors.ts'
import { acceptCallers, acceptGateway, acceptServer, type Placement } from './accept.ts'
import type { AccessConfig } from './access-config.ts'
import { readAuthReferences } from './auth-references.ts'
import { codeConfig } from './code-config.ts'
import { type ConfigMapValues, endpointOf, isBridged } from './endpoint.ts'
import { type AccessInput, resolveAccess } from './resolve-access.ts'
import { type GivenScript, resolveScripts, withCode } from './resolve-scripts.ts'
import { usersOf } from './resolve-users.ts'
import type {
  Payloads,
  RouterConfig,
  RouterScript,
  RouterServer,
  SearchConfig,
  ServerState,
  ServerStatus,
  ServerUsers,
  ToolPolicy,
  UserSecret,
} from './router-config.ts'
import { routerScale } from './router-scale.ts'
import { selects } from './select.ts'

/** The tools of a failed server stay visible this long: most servers recover. */
const FAILED_SHOWN_MS = 30_000
export const DEFAULT_NAMESPACE = 'default'
const DEFAULT_GATEWAY = 'default'

/** The observed state of one server. */
export type ServerObservation = {
  state: ServerState
  reason?: string
  message?: string
  /** When it entered this state, in milliseconds since the epoch. */
  since: number
  /** Digest of what the manifest refers to (values of Secrets, the manifest's folder): a changed digest requires a new connection. */
  inputs?: string
  /** Absent: it never sleeps. */
  sleep?: RouterServer['sleep']
  /** As in ServerUsers. */
  userProblems?: ServerUsers['problems']
}

export type ResolveInput = {
  /** If absent, as on a laptop without one: the default gateway, which selects every server of every namespace. */
  gateway?: McpGateway
  servers: readonly McpServer[]
  /** Reviewed scripts, of every namespace. Absent: there are none. */
  scripts?: readonly GivenScript[]
  /** By server name; a server without an entry counts as starting. */
  observed: ReadonlyMap<string, ServerObservation>
  /** o200k_base tokens of the overrides' descriptions, by their text, as far as they have been counted. */
  descriptionTokens?: ReadonlyMap<string, number>
  /** ConfigMaps of the gateway's namespace, for its `auth` and for headers (on a laptop the connectors read these). */
  configMaps?: ConfigMapValues
  /** By name of the issuer: the JSON Web Key Set that was fetched. */
  fetchedKeys?: AccessInput['fetchedKeys']
  /** By server name: the Secrets of its users, for servers with `auth.perUser`. */
  userSecrets?: ReadonlyMap<string, readonly UserSecret[]>
  placement: Placement
  /** Why the operator, or the laptop, refuses the gateway, besides the problems of its manifest. */
  refusals?: readonly Problem[]
  /** Laptops: the caller is given on the command line, whatever credentials the gateway requires. */
  assumed?: boolean
  /** Laptops: scripts are run, whatever the gateway's manifest says. */
  runsScripts?: boolean
  now: number
}

export type Resolved = {
  config: RouterConfig
  problems: ResolveProblem[]
  /** Milliseconds until the next failed server becomes hidden, when `resolve` must run again; absent if there is none. */
  after?: number
}

/** A problem, and the resource that has it. */
export type ResolveProblem = Problem & { kind: 'McpServer' | 'McpGateway' | 'McpScript'; name: string }

/** The config of a gateway's router, and all problems. If the gateway is not accepted, none of its servers is, with the gateway's reason. */
export function resolve(input: ResolveInput): Resolved {
  const gateway = withCode(input.gateway ?? defaultGateway(), input.runsScripts)
  const references = readAuthReferences(gateway.spec.auth, input.configMaps ?? new Map())
  const gatewayProblems = [
    ...(input.refusals ?? []),
    ...acceptGateway(gateway, input.placement, input.assumed),
    ...references.problems,
  ]
  const problems: ResolveProblem[] = gatewayProblems.map(problem => about(gateway, problem))
  const selected = input.servers
    .filter(server => !input.gateway || isSelected(gateway, server))
    .sort((a, b) => compare(a.metadata.name, b.metadata.name))
  const servers = selected.map(server => {
    const objections = [
      ...acceptServer(server, input.placement),
      ...acceptCallers(server, gateway, input.placement),
    ]
    problems.push(...objections.map(({ refuses: _, ...problem }) => about(server, problem)))
    const refusal = gatewayProblems[0] ?? objections.find(({ refuses }) => refuses)
    return routerServer(server, gateway, input, statusOf(server, refusal, input))
  })
  const scripts = resolveScripts(
    gateway,
    (input.scripts ?? []).filter(({ manifest }) => !input.gateway || isInSameNamespace(gateway, manifest)),
    selected.map(({ metadata }) => metadata.name),
  )
  problems.push(...scripts.problems.map(problem => ({ ...problem, kind: 'McpScript' as const })))
  const access = resolveAccess(gateway.spec, {
    references,
    fetchedKeys: input.fetchedKeys,
    namespace: namespaceOf(gateway),
    servers: selected,
    scripts: scripts.offered,
  })
  const config = routerConfig(gateway, servers, access, scripts.scripts)
  // The most that there may be, so that all together never admit more than a limit says.
  const routers = input.placement === 'cluster' ? routerScale(gateway).max : 1
  return {
    config: routers > 1 ? { ...config, routers } : config,
    problems,
    after: nextHidden(servers, input),
  }
}

/** The gateway of a laptop without an McpGateway: all defaults, and every server. */
export function defaultGateway(): McpGateway {
  const metadata = { name: DEFAULT_GATEWAY }
  return mcpGatewaySchema.parse({ apiVersion: API_VERSION, kind: 'McpGateway', metadata })
}

function about({ kind, metadata }: McpServer | McpGateway, problem: Problem): ResolveProblem {
  return { ...problem, kind, name: metadata.name }
}

function isSelected(gateway: McpGateway, server: McpServer): boolean {
  return isInSameNamespace(gateway, server) && selects(gateway.spec.servers.selector, server.metadata.labels)
}

function isInSameNamespace(gateway: McpGateway, other: McpServer | McpScript): boolean {
  return namespaceOf(gateway) === namespaceOf(other)
}

function routerConfig(
  gateway: McpGateway,
  servers: RouterServer[],
  access: AccessConfig,
  scripts: RouterScript[],
): RouterConfig {
  const { metadata, spec } = gateway
  const { default: profile, allowed } = spec.profiles
  return {
    gateway: { name: metadata.name, namespace: namespaceOf(gateway) },
    profile,
    allowedProfiles: [...new Set(allowed)].filter(other => other !== profile).sort(compare),
    exposeServers: spec.expose.servers,
    budget: spec.budget,
    search: searchConfig(spec.search),
    access,
    ...(spec.code.enabled && { code: codeConfig(spec.code) }),
    ...(scripts.length > 0 && { scripts }),
    servers,
  }
}

function searchConfig({ semantic, embeddings }: McpGateway['spec']['search']): SearchConfig {
  if (!embeddings) return { semantic }
  const { url, model, secretRef: secret } = embeddings
  return { semantic, embeddings: { url, model, ...(secret && { secret }) } }
}

function routerServer(
  server: McpServer,
  gateway: McpGateway,
  { placement, observed, descriptionTokens, configMaps, userSecrets }: ResolveInput,
  status: ServerStatus,
): RouterServer {
  const { metadata, spec } = server
  const { sleep, userProblems } = observed.get(metadata.name) ?? {}
  const { allow, deny, pin, trustHints, overrides } = spec.tools
  return {
    name: metadata.name,
    namespace: namespaceOf(server),
    title: spec.title,
    description: spec.description,
    category: spec.category,
    keywords: spec.keywords,
    transport: transportOf(server),
    endpoint: endpointOf(server, placement, { inputs: observed.get(metadata.name)?.inputs, configMaps }),
    sessions: spec.sessions,
    ...(placement === 'cluster' &&
      spec.sessions === 'perClient' &&
      isBridged(server) && { sessionIdleMs: parseDuration(spec.scaling.idleAfter) }),
    ...(spec.sessions === 'perUser' && {
      users: usersOf(server, userSecrets?.get(metadata.name), userProblems),
    }),
    tools: {
      allow,
      deny,
      ...(pin && { pin }),
      ...(trustHints && { trustHints }),
      // Nothing of a refused server is offered, and its overrides may be what is too large for the feed.
      overrides: status.state === 'notAccepted' ? {} : withTokenCounts(overrides, descriptionTokens),
    },
    limits: {
      callTimeoutMs: parseDuration(spec.limits.callTimeout),
      startTimeoutMs: parseDuration(spec.limits.startTimeout),
      concurrency: spec.limits.concurrency,
      maxResultBytes: parseBytes(spec.limits.maxResultBytes),
    },
    logging: {
      requests: spec.logging.requests,
      payloads: stricter(spec.logging.payloads, gateway.spec.audit.payloads),
    },
    status,
    ...(sleep && { sleep }),
  }
}

function withTokenCounts(
  overrides: ToolPolicy['overrides'],
  tokens: ReadonlyMap<string, number> = new Map(),
): ToolPolicy['overrides'] {
  const entries = Object.entries(overrides).map(([tool, override]) => {
    const descriptionTokens = tokens.get(override.description ?? '')
    return [tool, descriptionTokens === undefined ? override : { ...override, descriptionTokens }] as const
  })
  return Object.fromEntries(entries)
}

/** The transport of the server itself, not of the bridge in front of it. */
export function transportOf({ spec }: McpServer): RouterServer['transport'] {
  if (spec.remote) return spec.remote.transport === 'sse' ? 'sse' : 'http'
  return spec.image?.transport === 'http' ? 'http' : 'stdio'
}

function statusOf(
  server: McpServer,
  refusal: Problem | undefined,
  { observed, now }: ResolveInput,
): ServerStatus {
  if (refusal) {
    const message = `${refusal.path}: ${refusal.message}`
    return { state: 'notAccepted', reason: refusal.reason, message, hidden: true }
  }
  if (server.spec.suspend) {
    return {
      state: 'suspended',
      reason: REASON.suspended,
      message: 'switched off by its manifest',
      hidden: true,
    }
  }
  const seen = observed.get(server.metadata.name)
  if (!seen) return { state: 'starting', reason: REASON.starting, hidden: false }
  const { state, reason, message, since } = seen
  return { state, reason, message, hidden: isHidden(state, since, now) }
}

function isHidden(state: ServerState, since: number, now: number): boolean {
  if (state === 'failed') return now - since > FAILED_SHOWN_MS
  return state === 'authRequired' || state === 'suspended' || state === 'notAccepted'
}

/** Milliseconds until the next failed server becomes hidden; undefined if none will. */
function nextHidden(servers: readonly RouterServer[], { observed, now }: ResolveInput): number | undefined {
  const waits = servers
    .filter(({ status }) => status.state === 'failed' && !status.hidden)
    .map(({ name }) => (observed.get(name)?.since ?? now) + FAILED_SHOWN_MS + 1 - now)
  return waits.length === 0 ? undefined : Math.min(...waits)
}

const STRICTEST_FIRST: readonly Payloads[] = ['none', 'redacted', 'full']

function stricter(a: Payloads, b: Payloads): Payloads {
  return STRICTEST_FIRST.indexOf(a) < STRICTEST_FIRST.indexOf(b) ? a : b
}

function namespaceOf(resource: McpServer | McpGateway | McpScript): string {
  return resource.metadata.namespace ?? DEFAULT_NAMESPACE
}
