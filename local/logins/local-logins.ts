/** Logins at the servers of a local gateway: if it has `auth`, those of its users, as in a cluster; else those of the person at this machine. */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import type { HostGuard } from '../../core/host-guard.ts'
import type { Log } from '../../core/log.ts'
import type { TokenSource } from '../../core/mcp/client/http/oauth.ts'
import { ANONYMOUS, type Identity } from '../../core/mcp/identity.ts'
import { LOCAL_USER, type User, userOf } from '../../core/mcp/user.ts'
import type { McpServer } from '../../crds/server.ts'
import { issuerGuard } from '../../router/access/issuer-keys.ts'
import { BrowserLogins } from '../../router/logins/browser-logins.ts'
import { type LoginServer, Logins } from '../../router/logins/logins.ts'
import { type LoginPages, RouterLogins } from '../../router/logins/router-logins.ts'
import { createSeal } from '../../router/logins/seal.ts'
import type { Children, DesiredServer } from '../children.ts'
import type { GatewaySecrets } from '../gateway-secrets.ts'
import { LoginFiles } from './login-files.ts'
import { PersonLogins } from './person-logins.ts'
import { RemovedServers } from './removed-servers.ts'

const KEY_BYTES = 32

export type LocalLoginsOptions = {
  cacheFolder: string
  clock: Clock
  log: Log
  /** Returns the current servers and Secrets. */
  running: () => { children: Pick<Children, 'desiredServer' | 'refresh'>; secrets?: GatewaySecrets }
  /** How to reach upstreams, authorization servers and issuers. Absent: directly. */
  hosts?: HostGuard
  /** The identity of callers without a credential. Absent: `local#user`. */
  as?: Identity
}

export type LocalLogins = {
  pages: LoginPages
  /** To be called with all servers that have a manifest, running or not. Deletes the logins at servers that stay missing. */
  update(servers: readonly McpServer[]): void
  /** Tokens of a user, or without `user` of the person at this machine. Undefined if users do not log in to the server. */
  tokens(desired: DesiredServer, user?: User): TokenSource | undefined
  /** To be called once the router listens, with its port. The URLs of the login pages of the person at this machine contain it. */
  open(port: number): void
  /** Resolves once no file of a login is being written. */
  close(): Promise<void>
}

export function createLocalLogins({
  cacheFolder,
  clock,
  log,
  running,
  as,
  hosts,
}: LocalLoginsOptions): LocalLogins {
  const store = new LoginFiles(cacheFolder)
  // The key is new for each run, so logins that a browser began before this gateway started cannot be finished.
  const browsers = new BrowserLogins(createSeal(randomBytes(KEY_BYTES)), clock)
  const logins = new Logins({ store, browsers, clock, guard: hosts })
  const serverOf = (name: string) => {
    const found = running().children.desiredServer(name)
    return found && loginServer(found)
  }
  const users = new RouterLogins({
    ...{ logins, browsers, clock, guard: issuerGuard({ proxyFor: hosts?.proxyFor }) },
    loginServer: ({ name }) => serverOf(name),
    secret: key => running().secrets?.loginSecret(key),
  })
  const { promise: origin, resolve } = Promise.withResolvers<string>()
  const person = new PersonLogins({
    ...{ logins, browsers, origin, serverOf },
    ...{ person: (as && userOf(as)) ?? LOCAL_USER, who: as ?? ANONYMOUS },
    refresh: server => running().children.refresh(server),
  })
  const removed = new RemovedServers(clock, server => {
    const deleteAll = () => store.deleteOf(server)
    logins.forget(server, deleteAll).catch(err => log.error({ err, server }, 'logins could not be deleted'))
  })
  return {
    pages: {
      attach: dependencies => users.attach(dependencies),
      host: () => (users.knowsUsers() ? users : person),
    },
    // URL.origin omits the default port, as browsers do.
    open: port => resolve(new URL(`http://127.0.0.1:${port}`).origin),
    update: servers => removed.update(servers.map(({ metadata }) => metadata.name)),
    async close() {
      removed.close()
      await logins.settled()
    },
    tokens(desired, user) {
      const server = loginServer(desired)
      if (!server) return undefined
      if (!desired.knowsCallers) return person.tokens(server, user)
      return user && users.tokens(server.name, user, () => server)
    },
  }
}

/** The server as logins see it; undefined if users do not log in to it. */
function loginServer({ server, inputs }: DesiredServer): LoginServer | undefined {
  const { remote, auth } = server.spec
  const oauth = auth?.perUser?.oauth
  if (!remote || !oauth) return undefined
  const { scopes, issuer, clientId } = oauth
  const { loginSecret: clientSecret } = inputs
  return { name: server.metadata.name, upstream: remote, scopes, issuer, clientId, clientSecret }
}
