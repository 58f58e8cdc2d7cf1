/** Discovers an upstream's authorization server: protected resource metadata (RFC 9728), then its own (RFC 8414, OpenID Connect). */
import type { AuthorizationServerMetadata } from '@modelcontextprotocol/sdk/shared/auth.js'
import { Fault } from '../../../errors.ts'
import type { OAuthFetch } from './oauth-fetch.ts'
import type { RemoteSpec } from './spec.ts'

export type TokenServer = {
  issuer: string
  metadata: AuthorizationServerMetadata
  /** The resource that the token is for, as the upstream names it (RFC 8707). */
  resource?: string
  /** The scopes that the upstream names, separated by spaces. */
  scope?: string
}

const GIVE_TOKEN_URL = 'set spec.auth.oauth.tokenUrl'

/**
 * Finds the authorization server. Sends a request without a token, because the refusal may name the metadata's URL and the required
 * scopes; then tries the well-known URLs, and last the upstream's own origin, as in MCP 2025-03-26.
 * Throws Fault upstream_auth_required if none is found, upstream_protocol if the metadata are inconsistent.
 */
export async function findTokenServer(
  upstream: Pick<RemoteSpec, 'url' | 'transport'>,
  http: OAuthFetch,
): Promise<TokenServer> {
  const sdk = await import('@modelcontextprotocol/sdk/client/auth.js')
  const { url } = upstream
  const refusal = await http.probe(url, upstream.transport === 'sse' ? 'GET' : 'POST')
  const challenge = sdk.extractWWWAuthenticateParams(refusal)
  const found = await sdk.discoverOAuthServerInfo(url, {
    resourceMetadataUrl: challenge.resourceMetadataUrl,
    fetchFn: http.fetch,
  })
  const { authorizationServerUrl: issuer, authorizationServerMetadata: metadata, resourceMetadata } = found
  if (!metadata)
    throw new Fault('upstream_auth_required', `The upstream names no authorization server: ${GIVE_TOKEN_URL}`)
  // RFC 8414 section 3.3: metadata of another issuer must not be used.
  if (withSlash(metadata.issuer) !== withSlash(issuer))
    throw new Fault('upstream_protocol', `The authorization server gives another issuer: ${GIVE_TOKEN_URL}`)
  const resource = resourceMetadata?.resource
  if (resource !== undefined && !(await coversUrl(resource, url)))
    throw new Fault('upstream_protocol', `The upstream's metadata are of another resource: ${GIVE_TOKEN_URL}`)
  return {
    issuer,
    metadata,
    resource,
    scope: challenge.scope ?? resourceMetadata?.scopes_supported?.join(' '),
  }
}

/** `pinned`: the issuer that the manifest names; absent: the upstream may name any. */
export function isOfIssuer({ issuer }: Pick<TokenServer, 'issuer'>, pinned: string | undefined): boolean {
  return pinned === undefined || withSlash(issuer) === withSlash(pinned)
}

async function coversUrl(resource: string, url: string): Promise<boolean> {
  const { checkResourceAllowed } = await import('@modelcontextprotocol/sdk/shared/auth-utils.js')
  return checkResourceAllowed({ requestedResource: url, configuredResource: resource })
}

function withSlash(issuer: string): string {
  return issuer.endsWith('/') ? issuer : `${issuer}/`
}
