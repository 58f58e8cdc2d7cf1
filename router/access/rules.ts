/** Which access rules apply to a caller. Additive as in RBAC: a rule can only grant, so that a rule that fails to match opens nothing. Pure. */

import type { AccessRule, AccessSubject } from '../../core/catalog/access-config.ts'
import { isObject, type JsonValue } from '../../core/json.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { ownValue } from '../../core/own-value.ts'

/** Positions of the rules that apply to a caller. A rule with `challenge` applies without its scopes too: `missingScopes` returns these. */
export function matchingRules(rules: readonly AccessRule[], identity: Identity): number[] {
  return rules.flatMap((rule, at) => (applies(rule, identity) ? [at] : []))
}

/** The scopes of a rule that the caller's token does not have. A credential that has no scopes lacks them all. */
export function missingScopes({ scopes }: AccessRule, identity: Identity): string[] {
  return scopes.filter(scope => !identity.scopes?.includes(scope))
}

function applies(rule: AccessRule, identity: Identity): boolean {
  const { subjects, challenge } = rule
  const isAbout = subjects.length === 0 || subjects.some(subject => isSubject(subject, identity))
  return isAbout && (challenge || missingScopes(rule, identity).length === 0)
}

function isSubject(subject: AccessSubject, identity: Identity): boolean {
  const { issuer, client } = subject
  if (issuer !== undefined && issuer !== identity.issuer) return false
  if (client !== undefined && client !== identity.client) return false
  switch (subject.kind) {
    case 'Group':
      return identity.kind === 'user' && identity.groups.some(group => isNamed(subject.name, group))
    case 'User':
      return identity.kind === 'user' && isNamed(subject.name, identity.name)
    case 'Token':
      return identity.kind === 'token' && isNamed(subject.name, identity.subject)
    case 'ServiceAccount':
      return (
        identity.kind === 'serviceAccount' &&
        isNamed(subject.name, accountIn(subject.namespace, identity.subject))
      )
    case 'Claim':
      return identity.kind === 'user' && hasOne(claimOf(identity, subject.claim), subject.values)
  }
}

function isNamed(wanted: string, name: string | undefined): boolean {
  return name !== undefined && (wanted === '*' || wanted === name)
}

/** The name of the ServiceAccount `system:serviceaccount:<namespace>:<name>`; undefined if it is of another namespace. */
export function accountIn(namespace: string, subject: string): string | undefined {
  const prefix = `system:serviceaccount:${namespace}:`
  return subject.startsWith(prefix) ? subject.slice(prefix.length) : undefined
}

function claimOf({ claims }: Identity, name: string): JsonValue | undefined {
  return isObject(claims) ? ownValue(claims, name) : undefined
}

/** A claim is a value or a list of values; numbers and booleans are compared as text. */
function hasOne(claim: JsonValue | undefined, values: readonly string[]): boolean {
  const given = Array.isArray(claim) ? claim : [claim]
  return given.some(
    value =>
      (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') &&
      values.includes(String(value)),
  )
}
