/** The tokens with which callers of a local gateway authenticate: those in the manifest's Secret, or that of `LocalOptions.token`. Pure. */
import type { AccessConfig } from '../core/catalog/access-config.ts'

type Values = Readonly<Record<string, string>>

/** Name of the virtual Secret that contains `LocalOptions.token`. It is not a valid name, so no real Secret has it. */
const OPTION_SECRET = '(made)'

/** Restricts access to callers with `token`, unless the gateway has an `auth` of its own or `token` is undefined. */
export function withToken(access: AccessConfig, token: string | undefined): AccessConfig {
  if (token === undefined || access.auth) return access
  return {
    ...access,
    auth: { anonymous: false, jwt: [], tokens: { secretName: OPTION_SECRET }, revoked: [] },
  }
}

/** Whether callers can be different people. They are not if there is only `LocalOptions.token`: then all callers use the same token. */
export function distinguishesCallers({ auth }: AccessConfig): boolean {
  return auth !== undefined && auth.tokens?.secretName !== OPTION_SECRET
}

/** Returns the lookup of the Secret with the callers' tokens. `manifestTokens`: the tokens in the Secret that the manifest refers to. */
export function callerCredentials(token: string | undefined, manifestTokens: () => Values | undefined) {
  const optionValues = token === undefined ? undefined : { portolan: token }
  return { secret: (name: string) => (name === OPTION_SECRET ? optionValues : manifestTokens()) }
}
