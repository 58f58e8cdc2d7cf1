/** A real issuer on loopback, whose answers a test changes, and a running router that admits its tokens. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import type { JwtIssuerConfig } from '../../core/catalog/access-config.ts'
import type { RouterOptions } from '../../router/router.ts'
import { send, start } from './access-router.ts'

const LIST = { method: 'tools/list', params: {} }
export const MINUTE = 60_000
export const HOUR = 60 * MINUTE

export type Answer = (response: ServerResponse, keys: string) => void

export const healthy: Answer = (response, keys) => response.end(keys)
export const failing: Answer = response => response.writeHead(503).end()

export async function keyServer(
  t: TestContext,
  first: Answer = healthy,
  more: Partial<JwtIssuerConfig> = {},
  options: Partial<RouterOptions> = {},
) {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] })
  let answer = first
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    answer(response, keys)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const jwt = {
    name: 'own',
    issuer: own,
    audiences: ['https://mcp.example.com/mcp'],
    keysFrom: { uri: `${own}/keys` },
    usernameClaim: 'sub',
    groupsClaim: 'groups',
    requiredScopes: [],
    clockSkewMs: 30_000,
    maxLifetimeMs: 48 * HOUR,
    ...more,
  }
  const access = {
    url: 'https://mcp.example.com',
    auth: { anonymous: false, jwt: [jwt], revoked: [] },
  }
  const started = await start(t, access, {}, undefined, undefined, options)
  const { origin, clock } = started
  const sign = (claims: JWTPayload = {}, kid = 'one') =>
    new SignJWT({
      iss: own,
      aud: jwt.audiences,
      sub: 'ada',
      iat: clock.now() / 1_000,
      exp: clock.now() / 1_000 + 3_600,
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256', kid })
      .sign(privateKey)
  const statusOf = async (token: string) => (await send(origin, LIST, { token })).status
  const answerWith = (how: Answer) => {
    answer = how
  }
  return { ...started, access, asked, sign, statusOf, answerWith }
}
