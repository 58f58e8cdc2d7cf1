/** Finds contradictions in what a gateway's manifest says about its callers. Each of them refuses the gateway. Pure. */

import type { AccessSubject, RateLimitSpec } from '../../crds/access.ts'
import { REASON } from '../../crds/conditions.ts'
import type { McpGatewaySpec } from '../../crds/gateway.ts'
import { parseDuration } from '../../crds/quantity.ts'
import type { Problem } from '../errors.ts'

/** An API server remembers for this long which tokens it accepted: it would not notice a deleted pod sooner. */
const SHORTEST_REVIEW_MS = 10_000

/** The problems in `auth`, `access` and `rateLimits`, each with the path of its field. */
export function checkAccess(spec: McpGatewaySpec): Problem[] {
  return [
    ...issuerProblems(spec),
    ...reviewProblems(spec),
    ...spec.access.flatMap(({ subjects }, rule) =>
      subjects.flatMap((subject, at) => {
        const message = subjectProblem(subject, spec)
        return message === undefined ? [] : [invalid(`spec.access[${rule}].subjects[${at}]`, message)]
      }),
    ),
    ...spec.access.flatMap(({ challenge, scopes }, rule) => {
      const message = challenge ? challengeProblem(scopes, spec) : undefined
      return message === undefined ? [] : [invalid(`spec.access[${rule}].challenge`, message)]
    }),
    ...spec.rateLimits.flatMap((limit, at) => {
      const message = limitProblem(limit, spec)
      return message === undefined ? [] : [invalid(`spec.rateLimits[${at}]`, message)]
    }),
  ]
}

function invalid(path: string, message: string): Problem {
  return { reason: REASON.invalid, path, message }
}

function issuerProblems({ auth, url }: McpGatewaySpec): Problem[] {
  const jwt = auth?.jwt ?? []
  const problems: Problem[] = []
  if (jwt.length > 0 && url === undefined)
    problems.push(
      invalid('spec.url', 'is required with auth.jwt: give the URL at which callers reach the gateway'),
    )
  for (const [at, { name, issuer, keys }] of jwt.entries()) {
    const path = `spec.auth.jwt[${at}]`
    if (jwt.some((other, before) => before < at && (other.name === name || other.issuer === issuer)))
      problems.push(invalid(path, 'has the name or the issuer of another one: each must differ'))
    if (keys && (keys.uri === undefined) === (keys.configMapKeyRef === undefined))
      problems.push(invalid(`${path}.keys`, 'must have exactly one of uri and configMapKeyRef'))
  }
  return problems
}

function reviewProblems({ auth }: McpGatewaySpec): Problem[] {
  const review = auth?.serviceAccounts?.review
  if (review === undefined || parseDuration(review) >= SHORTEST_REVIEW_MS) return []
  const message = 'must be 10s or more: the API server itself remembers for 10 s which tokens it accepted'
  return [invalid('spec.auth.serviceAccounts.review', message)]
}

/**
 * Why a subject is not valid. With several issuers it has to name one: otherwise whoever runs the least trusted one could put callers into the
 * groups of the others.
 */
function subjectProblem(subject: AccessSubject, { auth }: McpGatewaySpec): string | undefined {
  const { kind, name, claim, values, issuer } = subject
  if ((kind === undefined) === (claim === undefined)) return 'must have exactly one of kind and claim'
  if (kind !== undefined && name === undefined) return `needs a name: which ${kind}?`
  if (claim !== undefined && !values?.length) return `needs values: which values of the claim ${claim}?`
  if (kind === 'Group' && name?.startsWith('system:'))
    return 'names a group that Kubernetes reserves for itself'
  if (kind === 'Token' || kind === 'ServiceAccount') return undefined
  const names = auth?.jwt.map(({ name }) => name) ?? []
  if (issuer === undefined && names.length > 1) return `needs an issuer: one of ${names.join(', ')}`
  if (issuer !== undefined && !names.includes(issuer))
    return `names the issuer "${issuer}", which is not in spec.auth.jwt`
  return undefined
}

function challengeProblem(scopes: readonly string[], { auth }: McpGatewaySpec): string | undefined {
  if (scopes.length === 0) return 'asks for nothing: give scopes, or remove it'
  if (!auth || auth.jwt.length === 0) return 'needs spec.auth.jwt, where callers get tokens with more scopes'
  return undefined
}

function limitProblem(
  { per, requests, calls, servers, tools }: RateLimitSpec,
  { auth }: McpGatewaySpec,
): string | undefined {
  if ((requests === undefined) === (calls === undefined)) return 'must have exactly one of requests and calls'
  if (requests !== undefined && (servers || tools))
    return 'counts requests, which have no servers and tools: give calls'
  if (per === 'Caller' && !auth)
    return 'is per caller, and without spec.auth all callers are one: give per: Gateway'
  return undefined
}
