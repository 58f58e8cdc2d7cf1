/** Checks a valid manifest against its placement: what a laptop or a cluster does not support. Pure. */
import { REASON } from '../../crds/conditions.ts'
import type { McpGateway, McpGatewaySpec } from '../../crds/gateway.ts'
import type { McpServer, McpServerSpec } from '../../crds/server.ts'
import type { Problem } from '../errors.ts'
import { checkAccess } from './check-access.ts'
import { findHidden } from './hidden-text.ts'

export type Placement = 'local' | 'cluster'

/** With `refuses` the server is not accepted; without, it runs and the problem is a warning. */
export type Objection = Problem & { refuses: boolean }

type Check<Spec> = {
  reason: string
  /** The path of the offending field; undefined if there is no problem. */
  find: (spec: Spec) => string | undefined
  message: string
  /** Both if absent. */
  placement?: Placement
  /** A warning: the server is accepted. */
  warns?: true
}

const NOT_YET = { reason: REASON.notYetSupported }
const ON_LAPTOPS = { reason: REASON.clusterOnly, placement: 'local' } as const
/** Versions that are not pinned: each installation gets the newest. */
const NEWEST: ReadonlySet<string | undefined> = new Set(['', 'latest'])

const SERVER_CHECKS: readonly Check<McpServerSpec>[] = [
  {
    reason: REASON.localOnly,
    placement: 'cluster',
    find: spec => spec.command && 'spec.command',
    message: 'command is for a laptop only: in a cluster give npm, pypi, image or remote',
  },
  {
    ...NOT_YET,
    placement: 'cluster',
    find: spec => (spec.scaling.min === 0 ? 'spec.scaling.min' : undefined),
    message: '0 is not supported in a cluster yet: use 1 or leave it out',
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
    reason: REASON.hiddenCharacters,
    warns: true,
    find: hiddenTextIn,
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
      'is not pinned: each pod installs the version that is newest when it starts; give one, so that all run the same',
  },
]

/** The first text for agents that hides characters. */
function hiddenTextIn({ title, description, category, keywords, tools }: McpServerSpec): string | undefined {
  const texts = { title, description, category, keywords, 'tools.overrides': tools.overrides }
  const found = Object.entries(texts).find(([, value]) => findHidden(value) !== undefined)
  return found && `spec.${found[0]}`
}

/** Refused rather than ignored: a gateway must not look protected while it is open. */
const GATEWAY_CHECKS: readonly Check<McpGatewaySpec>[] = [
  {
    ...ON_LAPTOPS,
    find: spec => spec.auth?.serviceAccounts && 'spec.auth.serviceAccounts',
    message: 'is for clusters only: on a laptop admit callers by tokens or jwt',
  },
  {
    reason: REASON.anonymousAndExposed,
    placement: 'cluster',
    find: spec => (isExposed(spec) && admitsAnyone(spec) ? 'spec.router.service' : undefined),
    message:
      'makes the gateway reachable from outside the cluster, where anyone could call every tool: give spec.auth, or take its type away',
  },
  notYet(
    'auth.serviceAccounts.review',
    spec => spec.auth?.serviceAccounts?.review !== undefined,
    'tokens of deleted pods would be accepted until they expire',
  ),
]

function notYet(
  field: string,
  isGiven: (spec: McpGatewaySpec) => boolean,
  consequence: string,
): Check<McpGatewaySpec> {
  const path = `spec.${field}`
  return {
    ...NOT_YET,
    find: spec => (isGiven(spec) ? path : undefined),
    message: `is not supported yet, and ${consequence}: remove it`,
  }
}

/** Whether its Service admits callers from outside the cluster. */
export function isExposed({ router }: McpGatewaySpec): boolean {
  const { type } = (router.service ?? {}) as { type?: unknown }
  return type === 'LoadBalancer' || type === 'NodePort'
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
 * The problems of a gateway in a placement; each of them refuses it. `assumed`: who calls is given on the command line, and so a laptop
 * needs not verify every kind of credential.
 */
export function acceptGateway({ spec }: McpGateway, placement: Placement, assumed = false): Problem[] {
  const checks = GATEWAY_CHECKS.filter(
    check =>
      (check.placement ?? placement) === placement && !(assumed && check.reason === REASON.clusterOnly),
  )
  return [...checks.flatMap(check => problemOf(check, spec)), ...checkAccess(spec)]
}

function problemOf<Spec>({ reason, find, message }: Check<Spec>, spec: Spec): Problem[] {
  const path = find(spec)
  return path === undefined ? [] : [{ reason, path, message }]
}
