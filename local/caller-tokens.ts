/** The tokens by which a laptop's gateway admits callers: those of its manifest's Secret, or one that was made for this run. Pure. */
import type { AccessConfig } from '../core/catalog/access-config.ts'

type Values = Readonly<Record<string, string>>

/** Stands for the Secret that a made token is in: no Secret can have this name. */
const MADE = '(made)'

/** Only callers with `token` are admitted, unless the gateway says itself who is. Undefined: nothing changes. */
export function withToken(access: AccessConfig, token: string | undefined): AccessConfig {
  if (token === undefined || access.auth) return access
  return { ...access, auth: { anonymous: false, jwt: [], tokens: { secretName: MADE }, revoked: [] } }
}

/** Whether callers are different people. Who starts a gateway with a token of its own has the only one. */
export function distinguishesCallers({ auth }: AccessConfig): boolean {
  return auth !== undefined && auth.tokens?.secretName !== MADE
}

/** Looks a Secret up. `manifestTokens`: those of the Secret that the manifest names. */
export function callerCredentials(token: string | undefined, manifestTokens: () => Values | undefined) {
  const made = token === undefined ? undefined : { portolan: token }
  return { secret: (name: string) => (name === MADE ? made : manifestTokens()) }
}
