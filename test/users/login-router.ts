/** A router of a gateway whose users log in to the server `notes`, and what a browser does at its pages. */
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { type Clock, systemClock } from '../../core/async.ts'
import { type AccessConfig, OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { EndpointLogin } from '../../core/catalog/router-config.ts'
import type { SecretValues } from '../../core/kube/secret.ts'
import { createLog } from '../../core/log.ts'
import { createClusterLogins } from '../../router/logins/cluster-logins.ts'
import { type RouterOptions, startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { rule } from '../front/access-router.ts'
import { echo, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

const REMOTES = { refusedAddresses: [], remoteHosts: ['127.0.0.1'] }

export type LoginRouterOptions = {
  /** How users log in to the server. */
  login?: Partial<EndpointLogin>
  /** Of the gateway's callers. */
  issuer: string
  /** Of the server. */
  url: string
  clock?: Clock
  /** Seals logins. Absent: no other router has it. */
  key?: Uint8Array
  /** The Secrets of logins. */
  secret?: (name: string) => SecretValues | undefined
  access?: Partial<AccessConfig>
  router?: Partial<RouterOptions>
}

export async function startLoginRouter(
  t: TestContext,
  { issuer, url, login, clock = systemClock, access: more, router: options, ...given }: LoginRouterOptions,
) {
  const origin = `http://127.0.0.1:${await freePort()}`
  const log = createLog({ level: 'silent' })
  const logins = createClusterLogins({
    ...{ key: randomBytes(32), secret: () => undefined, remotes: REMOTES },
    ...{ clock, log },
    ...given,
  })
  const source = createInProcessSource()
  const router = await startRouter({
    ...{ source, connect: () => upstreamOf(echo), host: '127.0.0.1', port: Number(new URL(origin).port) },
    ...{ log, clock, logins: logins.host, credentials: { secret: () => undefined, remotes: REMOTES } },
    ...options,
    ...(options?.admin && { admin: { ...options.admin, logins } }),
  })
  t.after(() => router.close(0))
  const jwt = {
    ...{ name: 'own', issuer, audiences: [`${origin}/mcp`], keysFrom: { discovery: true as const } },
    ...{ usernameClaim: 'sub', groupsClaim: 'groups', requiredScopes: ['read'] },
    ...{ clockSkewMs: 30_000, maxLifetimeMs: 3_600_000 },
  }
  const access = {
    ...OPEN_ACCESS,
    url: origin,
    auth: { anonymous: false, jwt: [jwt], revoked: [] },
    rules: [rule('all', 'notes', { subjects: [{ kind: 'User', name: 'ada', issuer: 'own' }] })],
    ...more,
  }
  const endpoint = {
    ...{ kind: 'http' as const, url, transport: 'streamable-http' as const },
    ...{ revision: '1', login: { scopes: [], ...login } },
  }
  const users = { max: 50, idleAfterMs: 60_000 }
  const server = { endpoint, transport: 'http', sessions: 'perUser', users } as const
  const offers = { tools: [{ name: 'about', description: 'Notes', inputSchema: { type: 'object' } }] }
  source.publish(snapshotOf({ notes: { offers, server } }, { access }, 1))
  await until(() => router.catalog())
  /** Presses the button of a page; as a browser does, with its origin. */
  const press = (path: string, query = '') =>
    fetch(`${origin}/connect/${path}?issuer=own${query}`, {
      ...{ method: 'POST', headers: { origin }, redirect: 'manual' },
    })
  const open = (url: URL | string, cookie: string) => fetch(url, { headers: { cookie }, redirect: 'manual' })
  return { origin, logins, router, press, open }
}

export function cookieOf(response: Response): string {
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

export function linkOf(html: string): URL {
  return new URL((/<a href="([^"]+)"/.exec(html)?.[1] ?? '').replaceAll('&amp;', '&'))
}
