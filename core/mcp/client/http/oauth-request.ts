/** Asks an authorization server for a token, with the SDK's client, which is loaded with the first request. */
import { Fault } from '../../../errors.ts'
import type { ClientCredentials } from './oauth.ts'
import { findTokenServer, type TokenServer } from './oauth-discovery.ts'
import { createOAuthFetch, type OAuthFetch } from './oauth-fetch.ts'

export type IssuedToken = { value: string; lifeSeconds?: number }

/**
 * Creates the function that requests a token. It throws Fault upstream_auth_required, _unreachable, _timeout or _protocol, with no
 * address or secret in the message.
 */
export function createTokenRequest(credentials: ClientCredentials) {
  const { tokenUrl, upstream, guard } = credentials
  const secret: SecretUse = {}
  return async (signal: AbortSignal): Promise<IssuedToken> => {
    const http = createOAuthFetch(tokenUrl ?? upstream.url, signal, guard)
    try {
      const server = tokenUrl ? knownServer(tokenUrl) : await findTokenServer(upstream, http)
      return await askServer(credentials, secret, server, http)
    } catch (error) {
      throw tokenFault(error, http.status())
    }
  }
}

/** Where the authorization server accepted the secret. */
type SecretUse = { place?: SecretPlace }
type SecretPlace = 'header' | 'body'

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

function knownServer(tokenUrl: string): TokenServer {
  const issuer = new URL(tokenUrl).origin
  // The SDK's type requires both; a token request uses neither.
  const unused = { authorization_endpoint: tokenUrl, response_types_supported: [] }
  return { issuer, metadata: { issuer, token_endpoint: tokenUrl, ...unused } }
}

/** Sends the secret with HTTP Basic, which every server must support, and then in the body if the server refuses it. */
async function askServer(
  credentials: ClientCredentials,
  secret: SecretUse,
  server: TokenServer,
  http: OAuthFetch,
): Promise<IssuedToken> {
  const { fetchToken } = await import('@modelcontextprotocol/sdk/client/auth.js')
  const { ClientCredentialsProvider } = await import('@modelcontextprotocol/sdk/client/auth-extensions.js')
  const { clientId, clientSecret, scopes = [], subject } = credentials
  const { issuer, metadata, resource } = server
  const scope = scopes.length > 0 ? scopes.join(' ') : server.scope
  const ask = async (place: SecretPlace) => {
    const client = { clientId, clientSecret, expectedIssuer: issuer, scope }
    const addClientAuthentication = authenticate(credentials, place)
    const provider = Object.assign(new ClientCredentialsProvider(client), {
      addClientAuthentication,
      ...(subject && { prepareTokenRequest: () => exchangeOf(subject(), scope) }),
    })
    const token = await fetchToken(provider, issuer, { metadata, resource, fetchFn: http.fetch })
    secret.place = place
    return token
  }
  const takesHeader = metadata.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true
  const place = secret.place ?? (takesHeader ? 'header' : 'body')
  const token = await ask(place).catch(error => {
    if (place === 'body' || !refusesClient(error, http.status())) throw error
    return ask('body').catch(() => Promise.reject(error))
  })
  if (token.access_token === '' || token.token_type.toLowerCase() !== 'bearer')
    throw new Fault('upstream_protocol', 'The authorization server issues no bearer tokens')
  return { value: token.access_token, lifeSeconds: token.expires_in }
}

/** The parameters of RFC 8693, section 2.1. */
function exchangeOf(subject: string, scope: string | undefined): URLSearchParams {
  return new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: subject,
    subject_token_type: ACCESS_TOKEN,
    requested_token_type: ACCESS_TOKEN,
    ...(scope !== undefined && { scope }),
  })
}

/** Adds the audience and the client's credentials to a token request. */
function authenticate({ clientId, clientSecret, audience }: ClientCredentials, place: SecretPlace) {
  return (headers: Headers, parameters: URLSearchParams) => {
    if (audience !== undefined) parameters.set('audience', audience)
    if (place === 'body') {
      parameters.set('client_id', clientId)
      parameters.set('client_secret', clientSecret)
    } else {
      // RFC 6749 section 2.3.1 requires both to be form-encoded, which the SDK does not do.
      const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`
      headers.set('authorization', `Basic ${btoa(pair)}`)
    }
  }
}

function formEncoded(value: string): string {
  return new URLSearchParams([['', value]]).toString().slice(1)
}

function refusesClient(error: unknown, status: number): boolean {
  const code = errorCode(error)
  return status === 401 || code === 'invalid_client' || code === 'invalid_request'
}

/** The Fault for an error of a token request. The server's message stays in the cause, because it may repeat secrets. */
function tokenFault(cause: unknown, status: number): Fault {
  if (cause instanceof Fault) return cause
  const code = errorCode(cause)
  if (code !== undefined && status < 500) {
    // The SDK reports every unknown code as server_error.
    const reason = code === 'server_error' ? `HTTP ${status}` : code
    const message = `The authorization server refuses the client: ${reason}`
    return new Fault('upstream_auth_required', message, { cause, details: { status } })
  }
  return new Fault('upstream_protocol', 'The answer of the authorization server is not valid OAuth 2.0', {
    cause,
  })
}

/** The code of the SDK's OAuthError, recognized by its shape so that the SDK need not be loaded. */
function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'errorCode' in error && typeof error.errorCode === 'string'
    ? error.errorCode
    : undefined
}
