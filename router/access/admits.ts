/** Whether a gateway admits a kind of caller at all, before its rules apply. Pure. */
import type { AccessConfig, AuthConfig } from '../../core/catalog/access-config.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { accountIn } from './rules.ts'

/** Why a caller is not admitted; undefined if it is. `tokens`: the names of the callers with tokens, if they are known. */
export function notAdmitted(
  { auth }: Pick<AccessConfig, 'auth'>,
  { kind, issuer, subject }: Identity,
  tokens?: ReadonlySet<string>,
): string | undefined {
  if (!auth) return undefined
  switch (kind) {
    case 'anonymous':
      return auth.anonymous ? undefined : 'callers without a credential are not admitted'
    case 'token':
      if (!auth.tokens) return 'spec.auth admits no tokens'
      return !tokens || tokens.has(subject) ? undefined : `there is no token "${subject}"`
    case 'serviceAccount':
      return admitsAccount(auth, subject)
        ? undefined
        : 'spec.auth.serviceAccounts does not admit its namespace'
    case 'user':
      return auth.jwt.some(({ name }) => issuer === undefined || name === issuer)
        ? undefined
        : 'spec.auth.jwt has no such issuer'
  }
}

/** Whether a ServiceAccount is of an admitted namespace. */
export function admitsAccount({ serviceAccounts }: AuthConfig, subject: string): boolean {
  return serviceAccounts?.namespaces.some(name => accountIn(name, subject) !== undefined) ?? false
}
