/** The logins of the person at this machine: what the pages /connect/<server> show and do, and the tokens that servers get. */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import { Fault } from '../../core/errors.ts'
import type { HostGuard } from '../../core/host-guard.ts'
import type { Log } from '../../core/log.ts'
import type { TokenSource } from '../../core/mcp/client/http/oauth.ts'
import { ANONYMOUS, type Identity } from '../../core/mcp/identity.ts'
import { LOCAL_USER, type User, userOf } from '../../core/mcp/user.ts'
import type { McpServer } from '../../crds/server.ts'
import { type ConnectHost, pathOf } from '../../router/http/connect-pages.ts'
import { BrowserLogins } from '../../router/logins/browser-logins.ts'
import { type LoginServer, Logins } from '../../router/logins/logins.ts'
import { createSeal } from '../../router/logins/seal.ts'
import type { Children, DesiredServer } from '../children.ts'
import { LoginFiles } from './login-files.ts'
import { RemovedServers } from './removed-servers.ts'

const KEY_BYTES = 32

export type LocalLoginsOptions = {
  cacheFolder: string
  clock: Clock
  log: Log
  /** Without a router until its port is open. */
  children: () => Pick<Children, 'wantedAs' | 'refresh'>
  /** How authorization servers are reached. Absent: directly. */
  hosts?: HostGuard
  /** Who the callers of this machine are. Absent: `local#user`. */
  as?: Identity
}

export type LocalLogins = ConnectHost & {
  /** Deletes the logins at servers that stay away. `servers`: all that there are manifests of, running or not. */
  see(servers: readonly McpServer[]): void
  /** Tokens of a user, or of the person at this machine. */
  tokens(desired: DesiredServer, user?: User): TokenSource | undefined
  /** Call once the router listens, with its port: what names a page waits for it. */
  open(port: number): void
  /** Resolves once no login is being written. */
  close(): Promise<void>
}

export function createLocalLogins({
  cacheFolder,
  clock,
  log,
  children,
  as,
  hosts,
}: LocalLoginsOptions): LocalLogins {
  const store = new LoginFiles(cacheFolder)
  const browsers = new BrowserLogins(createSeal(randomBytes(KEY_BYTES)), clock)
  const logins = new Logins({ store, browsers, clock, guard: hosts })
  const person = (as && userOf(as)) ?? LOCAL_USER
  const who = as ?? ANONYMOUS
  const removed = new RemovedServers(clock, server => {
    const deleteAll = () => store.deleteOf(server)
    logins.forget(server, deleteAll).catch(err => log.error({ err, server }, 'logins could not be deleted'))
  })
  const { promise: origin, resolve } = Promise.withResolvers<string>()
  const serverOf = (name: string) => {
    const found = children().wantedAs(name)
    return found && loginServer(found)
  }
  const found = (name: string) => {
    const server = serverOf(name)
    if (!server) throw new Fault('not_found', 'There is no such server')
    return server
  }
  return {
    base: () => origin,
    // Without the default port, as browsers write it.
    open: port => resolve(new URL(`http://127.0.0.1:${port}`).origin),
    see: servers => removed.see(servers.map(({ metadata }) => metadata.name)),
    async close() {
      removed.close()
      await logins.settled()
    },
    asked(name) {
      const server = serverOf(name)
      return server && { subject: person.subject, url: server.upstream.url }
    },
    async begin(name, _choice, known) {
      known(who)
      return logins.begin(found(name), person, `${await origin}${pathOf(name)}/callback`)
    },
    async finish(name, answer, cookie, known) {
      known(who)
      const begun = browsers.take(answer.state, cookie, name)
      const { subject } = await logins.finish(found(begun.server), begun, answer)
      // Its lists could not be read before.
      children().refresh(begun.server)
      return { subject }
    },
    tokens(desired, user = person) {
      const server = loginServer(desired)
      if (server && user.key !== person.key) return NOBODY_ELSE
      const page = async () => `${await origin}${pathOf(desired.server.metadata.name)}`
      return server && logins.tokens(server, user, page)
    },
  }
}

/** Where callers need a token (`up --host`), whoever has it can call, but only the person at this machine can log in. */
const NOBODY_ELSE: TokenSource = {
  token: async () => {
    throw new Fault('user_refused', 'only the person at this machine can log in', {
      details: { reason: 'LoginElsewhere' },
    })
  },
}

/** Undefined if users do not log in to it. */
function loginServer({ server, inputs }: DesiredServer): LoginServer | undefined {
  const { remote, auth } = server.spec
  const oauth = auth?.perUser?.oauth
  if (!remote || !oauth) return undefined
  const { scopes, clientId } = oauth
  return { name: server.metadata.name, upstream: remote, scopes, clientId, clientSecret: inputs.loginSecret }
}
