/** A real OAuth server (oidc-provider) with one registered confidential client. */
import { generateKeyPairSync } from 'node:crypto'
import Provider from 'oidc-provider'
import { serve } from './serve.ts'

export type OAuthServer = {
  tokenUrl: string
  issuer: string
  /** Requests to the token endpoint so far. */
  requests(): number
  /** Whether this server issued the token and it is not revoked. */
  accepts(token: string): boolean
  /** Revokes all tokens issued so far. */
  revoke(): void
  close(): Promise<void>
}

export const CLIENT_ID = 'portolan-client'
export const CLIENT_SECRET = 'very secret: &=%+'

export async function startOAuthServer(options: { lifeSeconds?: number } = {}): Promise<OAuthServer> {
  const valid = new Set<string>()
  let requests = 0
  let handle: ReturnType<Provider['callback']> | undefined
  const served = await serve(async (request, response) => {
    if (request.url === '/token') requests++
    await handle?.(request, response)
  })
  const provider = new Provider(served.origin, {
    adapter: memoryAdapter(id => valid.add(id)),
    jwks: {
      keys: [generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' })],
    },
    cookies: { keys: ['test'] },
    scopes: ['tools:read', 'tools:call'],
    ttl: { ClientCredentials: options.lifeSeconds ?? 600 },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: { enabled: false },
    },
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        scope: 'tools:read',
      },
    ],
  })
  handle = provider.callback()
  return {
    tokenUrl: `${served.origin}/token`,
    issuer: served.origin,
    requests: () => requests,
    accepts: token => valid.has(token),
    revoke: () => valid.clear(),
    close: served.close,
  }
}

/** The provider's storage. The id of an opaque access token is the token itself. */
function memoryAdapter(issued: (id: string) => void) {
  return (model: string) => {
    const stored = new Map<string, unknown>()
    return {
      async upsert(id: string, payload: unknown) {
        stored.set(id, payload)
        if (model === 'ClientCredentials') issued(id)
      },
      find: async (id: string) => stored.get(id),
      async destroy(id: string) {
        stored.delete(id)
      },
    }
  }
}
