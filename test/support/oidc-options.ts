/** Options of oidc-provider that authorization servers of MCP share: clients register themselves, PKCE, tokens for one resource. Pure. */

export type OidcOptions = {
  scopes: readonly string[]
  /** What tokens for a resource grant, and for how many seconds. */
  resourceScope: string
  tokenSeconds: number
}

/** There is no default resource: a client that names none gets a token that no gateway accepts. */
export function oidcOptions({ scopes, resourceScope, tokenSeconds }: OidcOptions) {
  return {
    clients: [],
    pkce: { required: () => true },
    scopes: ['openid', 'offline_access', ...scopes],
    features: {
      registration: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context: object, resource: string) => ({
          scope: resourceScope,
          audience: resource,
          accessTokenFormat: 'jwt' as const,
          accessTokenTTL: tokenSeconds,
        }),
      },
    },
  }
}
