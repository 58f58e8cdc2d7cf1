/** Checks a valid manifest against its placement: what a laptop or a cluster does not support. Pure. */
import type { GatewayAuth } from '../../crds/access.ts'
import { REASON } from '../../crds/conditions.ts'
import type { McpGateway, McpGatewaySpec } from '../../crds/gateway.ts'
import { parseBytes } from '../../crds/quantity.ts'
import type { McpServer, McpServerSpec } from '../../crds/server.ts'
import type { Problem } from '../errors.ts'
import { checkAccess } from './check-access.ts'
import { checkSelectors } from './check-selectors.ts'
import { findHidden } from './hidden-text.ts'
import { hasInstances } from './instances.ts'
import { scriptMemoryBytes } from './script-memory.ts'

export type Placement = 'local' | 'cluster'

/** With `refuses` the server is not accepted; without, it runs and the problem is a warning. */
export type Objection = Problem & { refuses: boolean }

type Check<Spec> = {
  reason: string
  /** The path of the offending field; undefined if there is no problem. */
  find: (spec: Spec) => string | undefined
  message: string
  /** Absent: both placements. */
  placement?: Placement
  /** A warning: the server is accepted. */
  warns?: true
}

const ON_LAPTOPS = { reason: REASON.clusterOnly, placement: 'local' } as const
/** Versions that are not pinned: each installation gets the newest. */
const NEWEST: ReadonlySet<string | undefined> = new Set(['', 'latest'])

/** As JSON. The feed of a gateway, which has the overrides of all of its servers, must fit into one ConfigMap (1 MiB, compressed). */
const MAX_OVERRIDES_BYTES = 256 * 1024

const SERVER_CHECKS: readonly Check<McpServerSpec>[] = [
  {
    reason: REASON.localOnly,
    placement: 'cluster',
    find: spec => spec.command && 'spec.command',
    message: 'command is for a laptop only: in a cluster give npm, pypi, image or remote',
  },
  {
    reason: REASON.notApplicable,
    placement: 'cluster',
    find: ({ scaling, ...spec }) =>
      (scaling.max > 1 || scaling.external) && hasInstances({ spec: { ...spec, scaling } })
        ? `spec.scaling.${scaling.external ? 'external' : 'max'}`
        : undefined,
    message: 'has no effect, because each user has a pod: limit these with users.max, or remove it',
  },
  {
    ...ON_LAPTOPS,
    find: spec => spec.users?.volume && 'spec.users.volume',
    message:
      'is for clusters only: on a laptop, a value in the Secret of each user (auth.perUser.secrets) can name a folder for files',
  },
  {
    reason: REASON.notApplicable,
    placement: 'cluster',
    find: spec => (spec.users?.volume && !hasInstances({ spec }) ? 'spec.users.volume' : undefined),
    message: 'is for stdio servers, of which each user has a pod: remove it',
  },
  {
    reason: REASON.storageSharedByPods,
    placement: 'cluster',
    find: spec => (isStorageShared(spec) ? 'spec.storage.accessMode' : undefined),
    message:
      'a ReadWriteOnce volume is for one pod, and this server may have several (scaling.max or scaling.external): use ReadWriteMany if a StorageClass has it, an image with the package in it, or one pod',
  },
  {
    reason: REASON.storageSharedByPods,
    placement: 'cluster',
    find: spec => (spec.sessions === 'perUser' && spec.storage ? 'spec.storage' : undefined),
    message:
      'would be written by the pods of all users, which have the credentials of their users: remove it, or use an image with the package in it',
  },
  {
    ...ON_LAPTOPS,
    find({ env }) {
      const at = env.findIndex(({ valueFrom }) => valueFrom?.fieldRef || valueFrom?.resourceFieldRef)
      return at < 0 ? undefined : `spec.env[${at}].valueFrom`
    },
    message:
      'fieldRef and resourceFieldRef are for clusters only: give a value, or a key of a Secret or ConfigMap',
  },
  {
    ...ON_LAPTOPS,
    find: spec => (spec.image?.transport === 'http' ? 'spec.image.transport' : undefined),
    message:
      'http images run in clusters only: start the container yourself, and give its address as remote.url',
  },
  {
    ...ON_LAPTOPS,
    find: spec => (spec.egress.length > 0 ? 'spec.egress' : undefined),
    message: 'is enforced in clusters only, and here the server could reach anything: remove it',
  },
  {
    reason: REASON.tooLarge,
    placement: 'cluster',
    find: ({ tools }) =>
      Buffer.byteLength(JSON.stringify(tools.overrides)) > MAX_OVERRIDES_BYTES
        ? 'spec.tools.overrides'
        : undefined,
    message:
      'has more than 256 KiB, too much for the configuration of the routers: shorten descriptions, or override fewer tools',
  },
  {
    reason: REASON.hiddenCharacters,
    warns: true,
    find: fieldWithHiddenText,
    message: 'hides characters that agents read and people do not see: remove them',
  },
  {
    reason: REASON.notPinned,
    placement: 'cluster',
    warns: true,
    find(spec) {
      const source = (['npm', 'pypi'] as const).find(name => NEWEST.has(spec[name]?.version))
      return source && `spec.${source}.version`
    },
    message:
      'is not pinned: each installation takes the version that is newest then; give one, so that all pods run the same',
  },
]

function isStorageShared({ storage, scaling }: McpServerSpec): boolean {
  return storage?.accessMode === 'ReadWriteOnce' && (scaling.max > 1 || scaling.external)
}

/** The path of the first field for agents whose text hides characters. */
function fieldWithHiddenText({
  title,
  description,
  category,
  keywords,
  tools,
}: McpServerSpec): string | undefined {
  const texts = { title, description, category, keywords, 'tools.overrides': tools.overrides }
  const found = Object.entries(texts).find(([, value]) => findHidden(value) !== undefined)
  return found && `spec.${found[0]}`
}

/** Each problem refuses the gateway rather than being ignored: a gateway must not look protected while it is open. */
const GATEWAY_CHECKS: readonly Check<McpGatewaySpec>[] = [
  {
    reason: REASON.codeNeedsMemory,
    placement: 'cluster',
    find: spec => (isShortOfMemory(spec) ? 'spec.router.resources.limits.memory' : undefined),
    message:
      'is too small for scripts: give 2 × limits.scripts × (limits.memory + 24Mi) of spec.code, and 128Mi for the router itself',
  },
  {
    reason: REASON.codeNotEnabled,
    find: ({ profiles, code }) =>
      !code.enabled && [profiles.default, ...profiles.allowed].includes('code') ? 'spec.profiles' : undefined,
    message: 'the profile code runs scripts, which are off: set spec.code.enabled, or leave it out',
  },
  {
    ...ON_LAPTOPS,
    find: spec => spec.auth?.serviceAccounts && 'spec.auth.serviceAccounts',
    message: 'is for clusters only: on a laptop admit callers by tokens or jwt',
  },
  {
    reason: REASON.anonymousAndExposed,
    placement: 'cluster',
    find: spec => (admitsAnyone(spec) ? exposedBy(spec) : undefined),
    message:
      'makes the gateway reachable from outside the cluster, where anyone could call every tool: give spec.auth, or remove it',
  },
]

/** The memory of the router itself, as the message says. */
const ROUTER_BYTES = 128 * 1024 * 1024

/** Whether the memory limit is too small for the scripts. Without a limit (`bytes` is NaN) it is not. */
function isShortOfMemory({ router, code }: McpGatewaySpec): boolean {
  const { limits } = (router.resources ?? {}) as { limits?: { memory?: unknown } }
  const bytes = parseBytes(String(limits?.memory))
  return code.enabled && bytes < scriptMemoryBytes(code) + ROUTER_BYTES
}

/** Whether callers from outside the cluster are admitted. */
export function isExposed(spec: McpGatewaySpec): boolean {
  return exposedBy(spec) !== undefined
}

/** The path of the field that admits callers from outside the cluster. */
function exposedBy({ router }: McpGatewaySpec): string | undefined {
  if (router.expose) return 'spec.router.expose'
  const { type } = (router.service ?? {}) as { type?: unknown }
  return type === 'LoadBalancer' || type === 'NodePort' ? 'spec.router.service.type' : undefined
}

function admitsAnyone({ auth }: McpGatewaySpec): boolean {
  return auth === undefined || auth.anonymous === 'Allow'
}

/** The problems of running a server in a placement. */
export function acceptServer({ spec }: McpServer, placement: Placement): Objection[] {
  return SERVER_CHECKS.filter(check => (check.placement ?? placement) === placement).flatMap(check =>
    problemOf(check, spec).map(problem => ({ ...problem, refuses: !check.warns })),
  )
}

/**
 * The objections to a server that has to know its callers, if the gateway cannot tell who they are, or does not let it have their
 * tokens. On a laptop without `auth`, all callers are the same user.
 */
export function acceptCallers({ spec }: McpServer, gateway: McpGateway, placement: Placement): Objection[] {
  const { auth } = gateway.spec
  const { name } = gateway.metadata
  const objection = (path: string, message: string, reason: string = REASON.callersUnknown) => [
    { reason, path, message, refuses: true },
  ]
  if (spec.sessions === 'perUser' && placement === 'cluster' && !auth)
    return objection(
      'spec.sessions',
      `perUser needs to know who calls, and all callers of McpGateway ${name} are anonymous: give that gateway spec.auth, or leave this server out of its spec.servers.selector`,
    )
  const exchange = spec.auth?.perUser?.tokenExchange
  if (exchange && !auth?.jwt.length)
    return objection(
      'spec.auth.perUser.tokenExchange',
      `exchanges the JSON Web Tokens of callers, and McpGateway ${name} admits nobody by one: give that gateway spec.auth.jwt, or leave this server out of its spec.servers.selector`,
    )
  if (exchange && auth && !mayExchangeAt(exchange.tokenUrl, auth))
    return objection(
      'spec.auth.perUser.tokenExchange.tokenUrl',
      `would get the JSON Web Tokens of callers, which McpGateway ${name} does not allow: use the token endpoint of an issuer in spec.auth.jwt of that gateway, add ${originOf(exchange.tokenUrl) ?? 'its origin'} to that gateway's spec.auth.tokenExchangeOrigins, or leave this server out of its spec.servers.selector`,
      REASON.exchangeNotAllowed,
    )
  const isOneUser = placement === 'local' && !auth
  if (spec.auth?.perUser?.oauth && !isOneUser && !auth?.jwt.length)
    return objection(
      'spec.auth.perUser.oauth',
      `lets users log in in a browser, who are known by JSON Web Tokens, and McpGateway ${name} admits nobody by one: give that gateway spec.auth.jwt, or leave this server out of its spec.servers.selector`,
    )
  return []
}

/** A token is for the gateway, so whoever gets it can act as the caller: that is for the gateway to allow, not for the server. */
function mayExchangeAt(tokenUrl: string, { jwt, tokenExchangeOrigins }: GatewayAuth): boolean {
  const origin = originOf(tokenUrl)
  const allowed = [...jwt.map(({ issuer }) => issuer), ...tokenExchangeOrigins]
  return origin !== undefined && allowed.some(url => originOf(url) === origin)
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined
}

/**
 * The problems of a gateway in a placement; each of them refuses it. `assumed`: the caller is given on the command line, so a laptop need
 * not be able to verify every kind of credential.
 */
export function acceptGateway({ spec }: McpGateway, placement: Placement, assumed = false): Problem[] {
  const checks = GATEWAY_CHECKS.filter(
    check =>
      (check.placement ?? placement) === placement && !(assumed && check.reason === REASON.clusterOnly),
  )
  return [...checks.flatMap(check => problemOf(check, spec)), ...checkSelectors(spec), ...checkAccess(spec)]
}

function problemOf<Spec>({ reason, find, message }: Check<Spec>, spec: Spec): Problem[] {
  const path = find(spec)
  return path === undefined ? [] : [{ reason, path, message }]
}
