/** All that a router of a cluster needs for the logins of its users, made of one key that only the routers of its gateway have. */
import type { Clock } from '../../core/async.ts'
import type { SecretKey } from '../../core/catalog/router-config.ts'
import type { SecretValues } from '../../core/kube/secret.ts'
import type { Log } from '../../core/log.ts'
import { createRemoteGuard, type RemoteRules } from '../../core/mcp/client/remote-guard.ts'
import { issuerGuard } from '../access/issuer-keys.ts'
import { BrowserLogins } from './browser-logins.ts'
import { handOver } from './hand-over.ts'
import { Logins } from './logins.ts'
import { Renewals } from './renewals.ts'
import { RouterLogins } from './router-logins.ts'
import { createSeal } from './seal.ts'
import { SealedLogins } from './sealed-logins.ts'

export type ClusterLogins = {
  host: RouterLogins
  logins: Logins
  store: SealedLogins
  renewals: Renewals
  /** To be called before the router ends, while others still reach its admin port. Never rejects. */
  handOver(): Promise<void>
}

export type ClusterLoginsOptions = {
  key: Uint8Array
  secret: (name: string) => SecretValues | undefined
  /** As in AuthenticationOptions. */
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
  const host = new RouterLogins({
    ...{ logins, browsers, secret: valueOfKey, guard: issuerGuard(remotes), clock },
    share: (login, user) => renewals.share(login, user),
  })
  const unwritten = () => store.unwritten(name => host.serverOf(name) !== undefined)
  const handingOver = { logins, renewals, unwritten, clock, log }
  return { host, logins, store, renewals, handOver: () => handOver(handingOver) }
}
