/** Creates everything that a router in a cluster needs for logins of users, from one key that only the routers of its gateway have. */
import type { Clock } from '../../core/async.ts'
import type { SecretKey } from '../../core/catalog/router-config.ts'
import type { SecretValues } from '../../core/kube/secret.ts'
import type { Log } from '../../core/log.ts'
import type { ConnectorOptions } from '../../core/mcp/client/connector.ts'
import { createRemoteGuard, type RemoteRules } from '../../core/mcp/client/remote-guard.ts'
import { issuerGuard } from '../access/issuer-keys.ts'
import { BrowserLogins } from './browser-logins.ts'
import { handOver } from './hand-over.ts'
import { type LoginServer, Logins } from './logins.ts'
import { Renewals } from './renewals.ts'
import { type LoginServerOf, RouterLogins } from './router-logins.ts'
import { createSeal } from './seal.ts'
import { SealedLogins } from './sealed-logins.ts'

export type ClusterLogins = {
  host: RouterLogins
  tokens: NonNullable<ConnectorOptions['logins']>
  logins: Logins
  store: SealedLogins
  renewals: Renewals
  /** Call before the router ends, while others can still connect to its admin port. Never rejects. */
  handOver(): Promise<void>
}

export type ClusterLoginsOptions = {
  key: Uint8Array
  secret: (name: string) => SecretValues | undefined
  /** Which addresses may be reached, as in AuthenticationOptions. */
  remotes: RemoteRules
  clock: Clock
  log: Log
}

export function createClusterLogins({
  key,
  secret,
  remotes,
  clock,
  log,
}: ClusterLoginsOptions): ClusterLogins {
  const seal = createSeal(key)
  const store = new SealedLogins({ key, seal, secret, clock })
  const renewals = new Renewals({ store, seal, log })
  const browsers = new BrowserLogins(seal, clock)
  const elsewhere: Renewals['elsewhere'] = renewal => renewals.elsewhere(renewal)
  const logins = new Logins({ store, browsers, clock, guard: createRemoteGuard(remotes), elsewhere })
  const valueOfKey = ({ name, key }: SecretKey) => secret(name)?.[key]?.trim()
  const loginServer = (server: LoginServerOf) => loginServerAt(server, valueOfKey)
  const host = new RouterLogins({
    ...{ logins, browsers, loginServer, secret: valueOfKey, guard: issuerGuard(remotes), clock },
    share: (login, user) => renewals.share(login, user),
  })
  const tokens: ClusterLogins['tokens'] = (server, user) =>
    host.tokens(server.name, user, () => loginServer(server))
  const unwritten = () => store.unwritten(name => host.serverOf(name) !== undefined)
  const handOverOptions = { logins, renewals, unwritten, clock, log }
  return { host, tokens, logins, store, renewals, handOver: () => handOver(handOverOptions) }
}

/** What users log in to at a server; undefined if they do not log in to it. `secret`: reads a value of a Secret. */
function loginServerAt(
  { name, endpoint }: LoginServerOf,
  secret: (key: SecretKey) => string | undefined,
): LoginServer | undefined {
  if (endpoint.kind !== 'http' || !endpoint.login) return undefined
  const { url, transport } = endpoint
  const { scopes, issuer, clientId, clientSecret } = endpoint.login
  return {
    name,
    upstream: { url, transport },
    scopes,
    ...(issuer !== undefined && { issuer }),
    ...(clientId !== undefined && { clientId }),
    ...(clientSecret && { clientSecret: secret(clientSecret) }),
  }
}
