/** The headers with which a refused caller is answered, and from which it learns how to get a token (RFC 6750, RFC 9728). Pure. */
import type { AccessConfig } from '../../core/catalog/access-config.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import type { Challenge } from '../../core/mcp/server/endpoint.ts'
import type { Refused } from '../access/bearer.ts'

const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** Headers of the answer to a refused request. Scopes are always named, since clients ask for what the challenge names (MCP 2026-07-28, authorization). */
export function challengeHeaders(
  access: AccessConfig,
  path: string,
  refused: Omit<Refused, 'reason'>,
): string[] {
  if (refused.status === 503) return ['retry-after', '1']
  if (refused.status !== 401 && refused.error !== 'insufficient_scope') return []
  const scopes = refused.scopes ?? requiredScopes(access)
  const parameters = [
    refused.error && `error="${refused.error}"`,
    refused.error && `error_description="${refused.message.replaceAll(/["\\]/g, '')}"`,
    hasMetadata(access) && `resource_metadata="${access.url}${METADATA_PATH}${resourceOf(path)}"`,
    scopes.length > 0 && `scope="${scopes.join(' ')}"`,
  ].filter(parameter => parameter)
  return ['www-authenticate', parameters.length === 0 ? 'Bearer' : `Bearer ${parameters.join(', ')}`]
}

/** For a caller who sees what it may not use yet: with a token that has more scopes, or with any token (RFC 6750, section 3.1). */
export function challengeFor(
  access: AccessConfig,
  url: string,
  { kind }: Identity,
  scopes: readonly string[],
): Challenge {
  const message = 'The token lacks scopes.'
  const refused: Omit<Refused, 'reason'> =
    kind === 'anonymous'
      ? { status: 401, message, scopes }
      : { status: 403, error: 'insufficient_scope', message, scopes }
  return { status: refused.status, headers: challengeHeaders(access, url.split('?', 1)[0] ?? '', refused) }
}

/** The metadata of a protected resource (RFC 9728, section 2). Everything comes from the manifest, nothing from the request's Host. Undefined: there is no such resource. */
export function resourceMetadata(access: AccessConfig | undefined, path: string): JsonObject | undefined {
  if (!access || !hasMetadata(access) || !RESOURCE_PATH.test(path)) return undefined
  const scopes = requiredScopes(access)
  return {
    resource: `${access.url}${path === '' ? '/mcp' : path}`,
    authorization_servers: [...new Set(access.auth?.jwt.map(({ issuer }) => issuer))],
    bearer_methods_supported: ['header'],
    ...(scopes.length > 0 && { scopes_supported: scopes }),
  }
}

/** The path if a resource may be there, otherwise the root: the answer repeats no other text of a request. */
function resourceOf(path: string): string {
  const plain = path.replace(/\/$/, '')
  return RESOURCE_PATH.test(plain) ? plain : ''
}

/** The paths at which MCP is served, and the root. */
const RESOURCE_PATH = /^(?:\/mcp(?:\/[a-z]{1,20})?|\/servers\/[a-z0-9-]{1,63}\/mcp)?$/

/** Metadata is served only if clients can log in: a client that sees OAuth advertised ignores the token that it was configured with. */
function hasMetadata({ auth, url }: AccessConfig): boolean {
  return url !== undefined && auth !== undefined && auth.jwt.length > 0
}

function requiredScopes({ auth, rules }: AccessConfig): string[] {
  const ofRules = rules.filter(({ challenge }) => !challenge).flatMap(({ scopes }) => scopes)
  return [...new Set([...(auth?.jwt.flatMap(issuer => issuer.requiredScopes) ?? []), ...ofRules])].filter(
    scope => scope !== 'offline_access',
  )
}
