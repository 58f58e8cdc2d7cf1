/** The state of a gateway's authentication and of its access rules, each with a sentence: conditions in a cluster, log lines on a laptop. Pure. */
import { REASON } from '../../crds/conditions.ts'
import type { Problem } from '../errors.ts'
import type { AuthConfig } from './access-config.ts'
import type { AccessReport } from './access-report.ts'

export type AccessVerdict = { status: 'True' | 'False' | 'Unknown'; reason: string; message: string }

/** Names the API server as the issuer of ServiceAccount tokens. No other issuer has this name: those in `spec.auth.jwt` have no capital letters. */
export const CLUSTER_KEYS = 'serviceAccounts'

/** What a router knows of the public keys of an issuer. */
export type KeyState = {
  /** Name of the issuer in `spec.auth.jwt`, or CLUSTER_KEYS. */
  issuer: string
  /**
   * pending: not fetched yet. stale: fetching fails, and older keys are used. unavailable: there are none, or they are too old.
   * mismatch: the issuer's URL is answered by another issuer.
   */
  state: 'ready' | 'pending' | 'stale' | 'unavailable' | 'mismatch'
  /** Why fetching failed. */
  message?: string
  /** When the keys that are used were fetched, such as `2026-11-22T03:04:05.678Z`. */
  fetchedAt?: string
}

const WORST_FIRST = ['mismatch', 'unavailable', 'stale', 'pending'] as const
/** How many findings a message has. */
const MAX_SHOWN = 5

/** Whether credentials can be verified. `keys`: as routers report them; undefined if no router has reported yet. */
export function authVerdict(
  auth: Pick<AuthConfig, 'anonymous' | 'jwt' | 'serviceAccounts'> | undefined,
  keys: readonly KeyState[] | undefined,
): AccessVerdict {
  if (!auth)
    return {
      status: 'True',
      reason: REASON.anonymous,
      message:
        'Callers need no credential: whoever reaches the gateway is admitted. Give spec.auth to change that.',
    }
  const wanted = new Set([
    ...auth.jwt.map(({ name }) => name),
    ...(auth.serviceAccounts ? [CLUSTER_KEYS] : []),
  ])
  if (wanted.size > 0 && !keys) return waiting('No router has reported the keys of the issuers yet')
  const relevant = (keys ?? []).filter(({ issuer }) => wanted.has(issuer))
  const worst = WORST_FIRST.flatMap(state => relevant.find(one => one.state === state) ?? [])[0]
  if (worst) return keyVerdict(worst)
  return auth.anonymous
    ? {
        status: 'True',
        reason: REASON.anonymous,
        message: 'Credentials are verified, and callers without one are admitted too.',
      }
    : {
        status: 'True',
        reason: REASON.ready,
        message: 'Credentials are verified; nobody is admitted without one.',
      }
}

function keyVerdict({ issuer, state, message = 'no reason is known', fetchedAt }: KeyState): AccessVerdict {
  const name = issuer === CLUSTER_KEYS ? 'the API server (ServiceAccounts)' : `the issuer "${issuer}"`
  switch (state) {
    case 'mismatch':
      return {
        status: 'False',
        reason: REASON.issuerMismatch,
        message: `The metadata of ${name} is wrong: ${message}`,
      }
    case 'unavailable':
      return {
        status: 'False',
        reason: REASON.keysUnavailable,
        message: `There are no keys of ${name}, and its tokens are answered 503: ${message}`,
      }
    case 'stale':
      return {
        status: 'True',
        reason: REASON.keysStale,
        message: `The keys of ${name} cannot be fetched, and those of ${fetchedAt ?? 'before'} are used for up to 24 h: ${message}`,
      }
    default:
      return waiting(`The keys of ${name} are being fetched`)
  }
}

/** Whether every rule has an effect. `report`: of the newest catalog that a router serves, or of the manifests alone. */
export function accessVerdict(report: AccessReport): AccessVerdict {
  const { rules, findings } = report
  const first = findings.find(({ reason }) => reason === REASON.ruleMatchesNothing) ?? findings[0]
  if (first) return { status: 'False', reason: first.reason, message: sentences(findings) }
  if (rules.length === 0)
    return {
      status: 'True',
      reason: REASON.noRules,
      message:
        'There are no rules in spec.access: whoever is admitted may use everything that spec.tools allows.',
    }
  return { status: 'True', reason: REASON.resolved, message: 'Every rule grants something.' }
}

function waiting(message: string): AccessVerdict {
  return { status: 'Unknown', reason: REASON.starting, message }
}

function sentences(findings: readonly Problem[]): string {
  const shown = findings.slice(0, MAX_SHOWN).map(({ path, message }) => `${path}: ${message}`)
  const more = findings.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}
