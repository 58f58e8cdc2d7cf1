/** The state of authentication and access in a router: reported in its status, and logged when it changes. */
import { type AccessReport, reportAccess } from '../../core/catalog/access-report.ts'
import type { KeyState } from '../../core/catalog/access-verdicts.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Authentication, AuthenticationOptions } from './authentication.ts'

export type AccessState = {
  /** The keys of each issuer of JSON Web Tokens, and of the API server if ServiceAccounts are admitted. */
  keys: KeyState[]
  report: AccessReport
}

export type AccessStates = {
  /** The state with this catalog; fetches keys that are due, without waiting. */
  of(catalog: Catalog): AccessState
  /** Call with each new catalog. Fetches keys before a token needs them, and logs each new finding about rules that have no effect. */
  adopt(catalog: Catalog): void
}

export function createAccessStates({
  authentication,
  secret,
  log,
}: Pick<AuthenticationOptions, 'secret' | 'log'> & {
  authentication: Pick<Authentication, 'keys'>
}): AccessStates {
  const made = new WeakMap<Catalog, AccessReport>()
  let logged: ReadonlySet<string> = new Set()
  const reportOf = (catalog: Catalog): AccessReport => {
    const report =
      made.get(catalog) ?? reportAccess({ ...catalog, ...catalog.config, tokens: tokensOf(catalog) })
    made.set(catalog, report)
    return report
  }
  const tokensOf = ({ config }: Catalog): ReadonlySet<string> | undefined => {
    const values = config.access.auth?.tokens && secret(config.access.auth.tokens.secretName)
    return values && new Set(Object.keys(values))
  }
  return {
    of: catalog => ({ keys: authentication.keys(catalog.config.access), report: reportOf(catalog) }),
    adopt(catalog) {
      authentication.keys(catalog.config.access)
      const { findings } = reportOf(catalog)
      for (const { reason, path, message } of findings)
        if (!logged.has(message))
          log.warn({ reason, path, detail: message }, 'the access rules have a problem')
      logged = new Set(findings.map(({ message }) => message))
    },
  }
}
