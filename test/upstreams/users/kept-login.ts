/** A stored login of a user at an upstream, whose tokens a quick login server renews. */
import type { User } from '../../../core/mcp/user.ts'
import type { KeptLogin } from '../../../router/logins/kept-login.ts'
import type { QuickLoginServer } from './quick-login-server.ts'

export function keptLogin({ issuer, url }: QuickLoginServer, { subject }: User, token: string): KeptLogin {
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ['code'],
  }
  const now = Date.now()
  return {
    ...{ name: 'notes', url, subject, sinceMs: now, renewedMs: now },
    server: { issuer, metadata },
    client: { client_id: 'portolan' },
    tokens: { access_token: token, token_type: 'Bearer', expires_in: 600, refresh_token: 'ada refresh 0' },
  }
}
