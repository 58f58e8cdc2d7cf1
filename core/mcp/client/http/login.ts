/** Logs a user in at an upstream's authorization server: authorization code flow with PKCE. The SDK is loaded at the first login. */
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { Fault } from '../../../errors.ts'
import { type HostGuard, isLoopback } from '../../../host-guard.ts'
import { findTokenServer, isOfIssuer, type TokenServer } from './oauth-discovery.ts'
import { createOAuthFetch, type OAuthFetch } from './oauth-fetch.ts'
import type { RemoteSpec } from './spec.ts'

/** What a login is for. `redirectUrl`: where the authorization server redirects the browser. */
export type LoginTarget = {
  upstream: Pick<RemoteSpec, 'url' | 'transport'>
  scopes: readonly string[]
  /** The only authorization server that may be used. Absent: the one that the upstream names. */
  issuer?: string
  /** Absent: the client registers itself. */
  clientId?: string
  clientSecret?: string
  redirectUrl: string
}

/** The URL in the manifest, from which the authorization server is discovered, and certificates to trust instead of the default ones. */
export type LoginPlace = { url: string; ca?: string }

/** What must be kept until the authorization server redirects the browser back. */
export type PendingLogin = {
  redirectUrl: string
  server: TokenServer
  client: OAuthClientInformationMixed
  verifier: string
}

/** The result of a login. Its refresh token is sent only to `server`, which issued it. */
export type Login = Pick<PendingLogin, 'server' | 'client'> & { tokens: OAuthTokens }

/** HTTP statuses of a refused grant (RFC 6749, section 5.2). After others, such as 429, a later request may succeed. */
const REFUSALS = new Set([400, 401, 403])

const NO_REGISTRATION = 'The authorization server registers no clients by itself: set'

const OTHER_ISSUER =
  'The server names another authorization server than spec.auth.perUser.oauth.issuer of its manifest'

const NEEDED_METADATA = new Set([
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'token_endpoint_auth_methods_supported',
  'grant_types_supported',
  'response_types_supported',
  'code_challenge_methods_supported',
  'authorization_response_iss_parameter_supported',
])
const NEEDED_OF_CLIENT = new Set(['client_id', 'client_secret', 'token_endpoint_auth_method'])

/** Discovers the authorization server of an upstream, and begins a login there. `state` comes back in the redirect. Throws Faults. */
export async function beginLogin(
  target: LoginTarget,
  state: string,
  signal: AbortSignal,
  guard?: HostGuard,
): Promise<PendingLogin & { url: URL }> {
  const { upstream } = target
  const http = createOAuthFetch(upstream.url, signal, guard)
  return translated(async () => {
    const server = await findTokenServer(upstream, http)
    requirePrivate(upstream.url)
    if (!isOfIssuer(server, target.issuer))
      throw new Fault('upstream_protocol', OTHER_ISSUER, { details: { reason: 'OtherIssuer' } })
    return beginAt(server, target, state, http, 'spec.auth.perUser.oauth.clientId')
  })
}

/** Begins a login at an issuer of JSON Web Tokens, for a token for the resource. Throws Faults. */
export async function beginIssuerLogin(
  { issuer, ca, resource }: { issuer: string; ca?: string; resource: string },
  target: Omit<LoginTarget, 'upstream' | 'issuer'>,
  state: string,
  signal: AbortSignal,
  guard?: HostGuard,
): Promise<PendingLogin & { url: URL }> {
  const http = createOAuthFetch(issuer, signal, guard, ca)
  return translated(async () => {
    const sdk = await import('@modelcontextprotocol/sdk/client/auth.js')
    const metadata = await sdk.discoverAuthorizationServerMetadata(issuer, { fetchFn: http.fetch })
    if (metadata?.issuer !== issuer)
      throw new Fault('upstream_protocol', 'The metadata of the issuer are missing, or of another issuer')
    const server = { issuer, metadata, resource }
    return beginAt(server, target, state, http, 'spec.auth.jwt[].login.clientId of the gateway')
  })
}

/** Registers a client if none is given, and creates the URL for the browser. `field`: the field of the manifest for a client id. */
async function beginAt(
  server: TokenServer,
  { scopes, clientId, clientSecret, redirectUrl }: Omit<LoginTarget, 'upstream' | 'issuer'>,
  state: string,
  http: OAuthFetch,
  field: string,
): Promise<PendingLogin & { url: URL }> {
  const sdk = await import('@modelcontextprotocol/sdk/client/auth.js')
  const { issuer, metadata, resource } = server
  const { registration_endpoint: registration } = metadata
  for (const url of [metadata.authorization_endpoint, metadata.token_endpoint, registration])
    if (url !== undefined) requirePrivate(url)
  const scope = scopes.length > 0 ? scopes.join(' ') : server.scope
  if (clientId === undefined && registration === undefined)
    throw new Fault('upstream_auth_required', `${NO_REGISTRATION} ${field}`)
  const client: OAuthClientInformationMixed =
    clientId === undefined
      ? await sdk.registerClient(issuer, {
          metadata,
          clientMetadata: clientMetadata(redirectUrl),
          scope,
          fetchFn: http.fetch,
        })
      : { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) }
  const started = await sdk.startAuthorization(issuer, {
    metadata,
    clientInformation: client,
    redirectUrl,
    scope,
    state,
    resource,
  })
  const { codeVerifier: verifier, authorizationUrl: url } = started
  return { redirectUrl, server: neededOf(server), client: neededOfClient(client), verifier, url }
}

/** Exchanges the code for tokens. `iss`: the issuer in the redirect (RFC 9207); a code of another server is refused. Throws Faults. */
export async function finishLogin(
  place: LoginPlace,
  { redirectUrl, server, client, verifier }: PendingLogin,
  { code, iss }: { code: string; iss: string | undefined },
  signal: AbortSignal,
  guard?: HostGuard,
): Promise<Login> {
  const { issuer, metadata, resource } = server
  const mustName =
    'authorization_response_iss_parameter_supported' in metadata &&
    metadata.authorization_response_iss_parameter_supported === true
  if (iss === undefined ? mustName : iss !== metadata.issuer)
    throw new Fault('upstream_protocol', 'The answer is not of the authorization server that was asked', {
      details: { reason: 'OtherIssuer' },
    })
  const http = createOAuthFetch(place.url, signal, guard, place.ca)
  return translated(async () => {
    const sdk = await import('@modelcontextprotocol/sdk/client/auth.js')
    const tokens = await sdk.exchangeAuthorization(issuer, {
      metadata,
      clientInformation: client,
      authorizationCode: code,
      codeVerifier: verifier,
      redirectUri: redirectUrl,
      resource,
      fetchFn: http.fetch,
    })
    return { server, client, tokens: bearer(tokens) }
  })
}

/** Renews the tokens. Resolves with undefined if the user has to log in again. Throws Faults if the refresh failed for another reason. */
export async function refreshLogin(
  { server, client, tokens }: Login,
  upstreamUrl: string,
  signal: AbortSignal,
  guard?: HostGuard,
): Promise<Login | undefined> {
  const { refresh_token: refreshToken } = tokens
  if (refreshToken === undefined) return undefined
  const { issuer, metadata, resource } = server
  const http = createOAuthFetch(upstreamUrl, signal, guard)
  try {
    const sdk = await import('@modelcontextprotocol/sdk/client/auth.js')
    const options = { metadata, clientInformation: client, refreshToken, resource, fetchFn: http.fetch }
    return { server, client, tokens: bearer(await sdk.refreshAuthorization(issuer, options)) }
  } catch (error) {
    if (error instanceof Fault) throw error
    if (REFUSALS.has(http.status())) return undefined
    throw new Fault('upstream_unreachable', 'The authorization server does not renew the token', {
      cause: error,
      retryable: true,
    })
  }
}

/** Requires TLS, or an address on this machine or in this cluster, because codes and tokens of users are sent there. */
function requirePrivate(address: string): void {
  const url = URL.parse(address)
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && (isLoopback(url) || isInCluster(url))))
    return
  throw new Fault(
    'upstream_protocol',
    'The server, or its authorization server, has an address without https',
  )
}

/** Whether the host is the name of a Service, without a final dot, as in manifests. Whoever owns example.com has all names below `svc.example.com`. */
function isInCluster({ hostname }: URL): boolean {
  return /\.svc(?:\.cluster\.local)?$/.test(hostname)
}

/** Omits metadata that later requests do not need, because stored logins are read with every call. */
function neededOf({ issuer, metadata, resource }: TokenServer): TokenServer {
  const needed = Object.entries(metadata).filter(([name]) => NEEDED_METADATA.has(name))
  return {
    issuer,
    metadata: Object.fromEntries(needed) as TokenServer['metadata'],
    ...(resource !== undefined && { resource }),
  }
}

function neededOfClient(client: OAuthClientInformationMixed): OAuthClientInformationMixed {
  const needed = Object.entries(client).filter(([name]) => NEEDED_OF_CLIENT.has(name))
  return Object.fromEntries(needed) as OAuthClientInformationMixed
}

function clientMetadata(redirectUrl: string) {
  return {
    client_name: 'Portolan',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: isLoopback(new URL(redirectUrl)) ? 'native' : 'web',
  }
}

/** Requires a bearer token; omits the ID token, which is not used. */
function bearer({ id_token: _, ...tokens }: OAuthTokens): OAuthTokens {
  if (tokens.access_token === '' || tokens.token_type.toLowerCase() !== 'bearer')
    throw new Fault('upstream_protocol', 'The authorization server issues no bearer tokens')
  return tokens
}

/** Turns errors of the SDK into Faults. The server's message stays in the cause, because it may repeat secrets. */
async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Fault) throw error
    throw new Fault('upstream_auth_required', 'The authorization server refuses the login', { cause: error })
  }
}
