/** A running router that admits the tokens of an issuer, and a function that signs any claims as this issuer. */
import type { TestContext } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import type { AccessConfig, AuthConfig } from '../../core/catalog/access-config.ts'
import type { RouterOptions } from '../../router/router.ts'
import type { FixtureServer } from '../meta/fixture.ts'
import { NOW, rule, send, start } from './access-router.ts'

export type Claims = JWTPayload & Record<string, unknown>

/** Members of the issuer's group dev may use the server vermilion. */
export async function withIssuer(
  t: TestContext,
  more: Partial<AuthConfig['jwt'][number]> = {},
  access: Partial<AccessConfig> = {},
  servers?: Record<string, FixtureServer>,
  options?: Partial<RouterOptions>,
) {
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' }
  const issuer = {
    name: 'own',
    issuer: 'https://id.example.com',
    audiences: ['https://mcp.example.com/mcp'],
    jwks: { keys: [jwk] } as never,
    usernameClaim: 'sub',
    groupsClaim: 'groups',
    requiredScopes: [],
    clockSkewMs: 30_000,
    maxLifetimeMs: 24 * 60 * 60_000,
    ...more,
  }
  const auth: AuthConfig = {
    anonymous: false,
    jwt: [issuer],
    revoked: [{ subject: 'gone' }, { jti: 'lost' }],
  }
  const config = {
    url: 'https://mcp.example.com',
    auth,
    rules: [rule('dev', 'vermilion', { subjects: [{ kind: 'Group', name: 'dev', issuer: 'own' }] })],
    ...access,
  }
  const started = await start(t, config, {}, undefined, servers, options)
  const sign = (claims: Claims = {}, header: object = {}) =>
    new SignJWT({
      iss: issuer.issuer,
      aud: issuer.audiences,
      sub: 'ada',
      iat: NOW / 1_000,
      exp: NOW / 1_000 + 3_600,
      ...claims,
    })
      .setProtectedHeader({ alg: 'RS256', kid: 'one', ...header })
      .sign(privateKey)
  const list = { method: 'tools/list', params: {} }
  const ask = async (token: string) => send(started.origin, list, { path: '/mcp/direct', token })
  return { ...started, config, auth, sign, ask, publicKey, jwk }
}
