/** A real authorization server (oidc-provider) that exchanges tokens of a gateway's callers for tokens of an upstream (RFC 8693). */
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { jwtVerify, SignJWT } from 'jose'
import Provider from 'oidc-provider'
import { serve } from '../http/serve.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
const LIFE_SECONDS = 600
const PARAMETERS = ['audience', 'scope', 'subject_token', 'subject_token_type', 'requested_token_type']
export const CLIENT = { id: 'portolan', secret: 'very secret: &=%+' }
/** The audience of callers' tokens, and that of the exchanged ones. */
export const GATEWAY_AUDIENCE = 'https://mcp.example.com/mcp'
export const UPSTREAM_AUDIENCE = 'https://crm.example.com'

export type ExchangeServer = {
  issuer: string
  tokenUrl: string
  /** A token with which a caller logs in to the gateway. */
  tokenFor(subject: string, more?: { lifeSeconds?: number; scope?: string }): Promise<string>
  /** The subject of a token for this audience; rejects if it is not one. */
  verify(token: string, audience: string): Promise<string>
  /** Subjects of the exchanges so far, refused ones too. */
  exchanged: string[]
  /** The tokens that these exchanges were asked for. */
  subjectTokens: string[]
  /** Subjects whose tokens are refused, with an error that repeats the request. */
  refused: Set<string>
  /** Token requests are answered after this has resolved. */
  held: Promise<void> | undefined
  close(): Promise<void>
}

export async function startExchangeServer(): Promise<ExchangeServer> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = { ...privateKey.export({ format: 'jwk' }), alg: 'RS256', kid: 'one', use: 'sig' }
  let handle: ReturnType<Provider['callback']> | undefined
  const served = await serve(async (request, response) => {
    if (request.url === '/token') await state.held
    await handle?.(request, response)
  })
  const issuer = served.origin
  const state: ExchangeServer = {
    issuer,
    tokenUrl: `${issuer}/token`,
    async tokenFor(subject, { lifeSeconds: seconds = 300, scope = 'mcp' } = {}) {
      const now = Math.floor(Date.now() / 1000)
      return new SignJWT({ scope })
        .setProtectedHeader({ alg: 'RS256', kid: 'one', typ: 'at+jwt' })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(GATEWAY_AUDIENCE)
        .setIssuedAt(now)
        .setExpirationTime(now + seconds)
        .sign(privateKey)
    },
    async verify(token, audience) {
      const { payload } = await jwtVerify(token, createPublicKey(privateKey), { issuer, audience })
      return payload.sub ?? ''
    },
    exchanged: [],
    subjectTokens: [],
    refused: new Set(),
    held: undefined,
    close: served.close,
  }
  handle = createProvider(state, key).callback()
  return state
}

function createProvider(state: ExchangeServer, key: object): Provider {
  const client = { client_id: CLIENT.id, client_secret: CLIENT.secret, grant_types: [GRANT] }
  const provider = new Provider(state.issuer, {
    jwks: { keys: [key] },
    cookies: { keys: ['test'] },
    scopes: ['read'],
    features: { devInteractions: { enabled: false }, resourceIndicators: { enabled: false } },
    clients: [{ ...client, redirect_uris: [], response_types: [] }],
  })
  provider.registerGrantType(
    GRANT,
    async context => {
      const { subject_token: token = '', audience = '', scope } = context.oidc.params
      const subject = await state.verify(token, GATEWAY_AUDIENCE).catch(() => '')
      state.exchanged.push(subject)
      state.subjectTokens.push(token)
      if (subject === '' || state.refused.has(subject)) {
        context.status = 400
        context.body = { error: 'invalid_grant', error_description: `no token for ${token}` }
        return
      }
      const { AccessToken, ResourceServer } = provider
      const issued = new AccessToken({ accountId: subject, client: context.oidc.client, scope })
      const format = { scope: 'read', accessTokenFormat: 'jwt', accessTokenTTL: LIFE_SECONDS }
      issued.resourceServer = new ResourceServer(audience, { audience, ...format })
      context.body = {
        access_token: await issued.save(),
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        token_type: 'Bearer',
        expires_in: LIFE_SECONDS,
      }
    },
    PARAMETERS,
  )
  return provider
}
