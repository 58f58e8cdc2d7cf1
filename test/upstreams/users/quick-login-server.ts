/**
 * A small authorization server for fast tests: it can be the issuer of callers, and it serves the metadata of an upstream. It has no pages: a browser that
 * comes back with the code `<subject>` is logged in as that user.
 */
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { type Served, serve } from '../http/serve.ts'

export type QuickLoginServer = Served & {
  issuer: string
  /** The URL of the upstream. */
  url: string
  /** All tokens that it has issued. */
  tokens: string[]
  /** Requests for tokens so far, by grant. */
  grants: string[]
  /** Awaited before each answer to a request for a token. */
  before: { token: () => Promise<unknown> }
}

export async function startQuickLoginServer(): Promise<QuickLoginServer> {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] }
  const tokens: string[] = []
  const grants: string[] = []
  const before = { token: async (): Promise<unknown> => undefined }
  let refreshes = 0
  const tokenOf = async (form: URLSearchParams, issuer: string) => {
    const refreshed = form.get('refresh_token')?.split(' ')[0]
    const subject = form.get('code') ?? refreshed ?? ''
    const token = await new SignJWT({ scope: 'read', client_id: 'portolan', jti: `${++refreshes}` })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuer(issuer)
      .setSubject(subject)
      .setAudience(form.get('resource') ?? '')
      .setIssuedAt()
      .setExpirationTime('600s')
      .sign(privateKey)
    const refreshToken = `${subject} refresh ${refreshes}`
    tokens.push(token, refreshToken)
    return { access_token: token, token_type: 'Bearer', expires_in: 600, refresh_token: refreshToken }
  }
  const served = await serve(async (request, response) => {
    const { origin } = served
    const path = new URL(request.url ?? '', origin).pathname
    const send = (value: object) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (path.startsWith('/.well-known/oauth-protected-resource'))
      return send({ resource: `${origin}/mcp`, authorization_servers: [origin] })
    if (path.startsWith('/.well-known/'))
      return send({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        jwks_uri: `${origin}/keys`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
      })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    if (path === '/keys') return send(keys)
    if (path === '/register') return send({ ...JSON.parse(body), client_id: 'portolan' })
    if (path !== '/token') return void response.writeHead(401).end()
    await before.token()
    const form = new URLSearchParams(body)
    grants.push(form.get('grant_type') ?? '')
    send(await tokenOf(form, origin))
  })
  return { ...served, issuer: served.origin, url: `${served.origin}/mcp`, tokens, grants, before }
}

/** The URL to which a login page sends the browser back, logged in as `user`. `iss`: the issuer in that URL. */
export function callbackUrl(page: URL, user: string, iss = page.origin): URL {
  const back = new URL(page.searchParams.get('redirect_uri') ?? '')
  back.search = `${new URLSearchParams({ state: page.searchParams.get('state') ?? '', code: user, iss })}`
  return back
}
