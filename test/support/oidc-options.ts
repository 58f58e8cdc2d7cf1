/** Options of oidc-provider that the tests' authorization servers share: clients register themselves, PKCE, tokens for one resource. Pure. */

export type OidcOptions = {
  scopes: readonly string[]
  /** The scope of tokens for a resource. */
  resourceScope: string
  /** How long these tokens are valid. */
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
