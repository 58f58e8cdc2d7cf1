/** A running gateway that admits the tokens of a real authorization server. */
import type { TestContext } from 'node:test'
import { type AccessConfig, OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { createLog } from '../../core/log.ts'
import { startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { rule } from '../front/access-router.ts'
import { echo, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { freePort } from '../support/free-port.ts'
import { startScript } from '../support/processes.ts'
import { clientFile } from '../support/test-clients.ts'
import { until } from '../support/until.ts'

/**
 * Returns the gateway's origin. The group dev may use the server `seen`, whose tool `set` needs the scope `write` too; nobody may
 * use the server `unseen`.
 */
export async function startGatewayWithLogin(t: TestContext): Promise<string> {
  const url = `http://127.0.0.1:${await freePort()}`
  const provider = await clientFile('oidc-provider', 'lib', 'index.js')
  const issuer = await startScript<{ issuer: string }>(['test/login/issuer.ts', provider])
  t.after(() => issuer.stop())
  const source = createInProcessSource()
  const log = createLog({ level: 'silent' })
  const port = Number(new URL(url).port)
  const router = await startRouter({ source, connect: () => upstreamOf(echo), host: '127.0.0.1', port, log })
  t.after(() => router.close(0))
  const tools = ['get', 'set'].map(name => ({
    name,
    description: `Calls to ${name} a thing`,
    inputSchema: { type: 'object' },
  }))
  const servers = { seen: { offers: { tools } }, unseen: { offers: { tools } } }
  source.publish(snapshotOf(servers, { access: accessFor(url, issuer.ready.issuer) }, 1))
  await until(() => router.catalog())
  return url
}

function accessFor(url: string, issuer: string): AccessConfig {
  const jwt = {
    name: 'own',
    issuer,
    audiences: [`${url}/mcp`],
    keysFrom: { discovery: true as const },
    usernameClaim: 'sub',
    groupsClaim: 'groups',
    requiredScopes: ['mcp'],
    clockSkewMs: 30_000,
    maxLifetimeMs: 3_600_000,
  }
  const subjects = [{ kind: 'Group', name: 'dev' } as const]
  return {
    ...OPEN_ACCESS,
    url,
    auth: { anonymous: false, jwt: [jwt], revoked: [] },
    rules: [
      rule('read', 'seen', { subjects, tools: { allow: ['get'], deny: [], readOnly: false } }),
      rule('write', 'seen', { subjects, scopes: ['write'], challenge: true }),
    ],
  }
}
