/** A real authorization server (oidc-provider) of an upstream: clients register themselves, people log in, tokens are only for the upstream. */
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { jwtVerify, SignJWT } from 'jose'
import Provider from 'oidc-provider'
import { oidcOptions } from '../../support/oidc-options.ts'
import { serve } from '../http/serve.ts'

export type LoginServer = {
  issuer: string
  /** Token requests so far, by grant. */
  grants: string[]
  /** Calls `listener` with the grant of each token request. */
  onGrant(listener: (grant: string) => void): void
  /** Answers 503 from now on, or serves again. */
  away(isAway: boolean): void
  /** The subject of a token for this audience; rejects if it is not one. */
  verify(token: string, audience: string): Promise<string>
  /** A token for a user, without a login at the pages. */
  tokenFor(subject: string, audience: string): Promise<string>
  close(): Promise<void>
}

/** Where it listens, and the name by which others know it. */
export type Place = { origin: string; host: string; port: number }

/** `scope`: what its tokens grant. */
export async function startLoginServer(
  lifeSeconds = 600,
  place?: Place,
  scope = 'read',
): Promise<LoginServer> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = { ...privateKey.export({ format: 'jwk' }), alg: 'RS256', kid: 'one', use: 'sig' }
  const grants: string[] = []
  let handle: ReturnType<Provider['callback']> | undefined
  let away = false
  const served = await serve(
    async (request, response) => {
      if (away) return void response.writeHead(503).end()
      await handle?.(request, response)
    },
    place?.port,
    place?.host,
  )
  const issuer = place?.origin ?? served.origin
  const provider = new Provider(issuer, {
    ...oidcOptions({ scopes: [scope], resourceScope: scope, tokenSeconds: lifeSeconds }),
    jwks: { keys: [key] },
    cookies: { keys: ['test'] },
    issueRefreshToken: () => true,
  })
  provider.on('grant.success', ({ oidc }) => void grants.push(oidc.params.grant_type ?? ''))
  handle = provider.callback()
  return {
    issuer,
    grants,
    onGrant: listener =>
      void provider.on('grant.success', ({ oidc }) => listener(oidc.params.grant_type ?? '')),
    away(isAway) {
      away = isAway
    },
    async verify(token, audience) {
      const { payload } = await jwtVerify(token, createPublicKey(privateKey), { issuer, audience })
      return payload.sub ?? ''
    },
    tokenFor: (subject, audience) =>
      new SignJWT({ scope, client_id: 'agent' })
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime(`${lifeSeconds}s`)
        .sign(privateKey),
    close: served.close,
  }
}
