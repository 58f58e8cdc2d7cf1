/** Reads the values of the Secrets that a local McpGateway refers to. */
import type { SecretKey } from '../core/catalog/router-config.ts'
import type { Problem } from '../core/errors.ts'
import { REASON } from '../crds/conditions.ts'
import type { McpGateway } from '../crds/gateway.ts'
import { TOKEN_CHARACTERS } from '../router/access/bearer.ts'
import { readTokens } from '../router/access/named-tokens.ts'
import type { ValueResolver } from './secrets.ts'

export type GatewaySecrets = {
  /** The API key of the embeddings service, if one is configured. */
  embeddingsKey?: string
  /** The named tokens of callers, if the gateway refers to a Secret with them. */
  callerTokens?: Record<string, string>
  /** The client secrets for browser logins at the gateway's issuers. */
  loginSecret: (key: Pick<SecretKey, 'name' | 'key'>) => string | undefined
}

type Found = { secrets: GatewaySecrets; problems: Problem[] }

export const NO_SECRETS: GatewaySecrets = { loginSecret: () => undefined }

/** Values that cannot be read are absent, and reported as problems. */
export async function readGatewaySecrets(gateway: McpGateway, values: ValueResolver): Promise<Found> {
  const problems: Problem[] = []
  const read = async (ref: SecretKey, path: string) => {
    const found = await values.secret(ref)
    if ('value' in found) return found.value
    if (!ref.optional) problems.push({ ...found.problem, path })
    return undefined
  }
  const { search, auth } = gateway.spec
  const embeddings = search.embeddings?.secretRef
  const embeddingsKey = embeddings && (await read(embeddings, 'spec.search.embeddings.secretRef'))
  const tokens = auth?.tokens?.secretName
  const callerTokens = tokens === undefined ? undefined : await values.wholeSecret(tokens)
  if (tokens !== undefined) problems.push(...tokenProblems(tokens, callerTokens))
  const loginSecrets = new Map<string, string | undefined>()
  for (const [at, { login }] of (auth?.jwt ?? []).entries()) {
    const ref = login?.clientSecretRef
    if (ref) loginSecrets.set(idOf(ref), await read(ref, `spec.auth.jwt[${at}].login.clientSecretRef`))
  }
  const loginSecret: GatewaySecrets['loginSecret'] = key => loginSecrets.get(idOf(key))
  return { secrets: { embeddingsKey, callerTokens, loginSecret }, problems }
}

function idOf({ name, key }: Pick<SecretKey, 'name' | 'key'>): string {
  return JSON.stringify([name, key])
}

function tokenProblems(secret: string, values: Record<string, string> | undefined): Problem[] {
  const path = 'spec.auth.tokens.secretName'
  if (!values) {
    const message = `there is no Secret "${secret}": nobody is admitted by a token`
    return [{ reason: REASON.secretNotFound, message, path }]
  }
  const { unusable } = readTokens(values)
  if (unusable.length === 0) return []
  const message = `the tokens of ${unusable.join(', ')} are not usable: each needs 32 characters or more, of ${TOKEN_CHARACTERS}, or sha256: and 64 hexadecimal digits`
  return [{ reason: REASON.invalid, message, path }]
}
