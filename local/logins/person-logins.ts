/** The logins of the person at this machine, the only user of a gateway without `auth`. */
import { Fault } from '../../core/errors.ts'
import type { TokenSource } from '../../core/mcp/client/http/oauth.ts'
import type { User } from '../../core/mcp/user.ts'
import type { Who } from '../../router/audit/line.ts'
import { type Asked, type ConnectHost, type Finished, pathOf } from '../../router/http/connect-pages.ts'
import type { Known } from '../../router/http/login-steps.ts'
import type { BrowserAnswer, BrowserLogins, BrowserStep } from '../../router/logins/browser-logins.ts'
import type { LoginServer, Logins } from '../../router/logins/logins.ts'

export type PersonLoginsOptions = {
  logins: Logins
  browsers: BrowserLogins
  person: User
  /** The same person, for the audit stream. */
  who: Who
  /** The origin of the login pages; resolves once the port is known. */
  origin: Promise<string>
  /** Returns undefined if users do not log in to a server with this name. */
  serverOf: (name: string) => LoginServer | undefined
  /** Reads the lists of a server again, because they could not be read before the login. */
  refresh: (server: string) => void
}

export class PersonLogins implements ConnectHost {
  readonly knowsByMachine = true
  readonly #options: PersonLoginsOptions

  constructor(options: PersonLoginsOptions) {
    this.#options = options
  }

  base(): Promise<string> {
    return this.#options.origin
  }

  asked(name: string): Asked | undefined {
    const { serverOf, person } = this.#options
    const server = serverOf(name)
    return server && { subject: person.subject, url: server.upstream.url }
  }

  async begin(name: string, _choice: object, known: Known): Promise<BrowserStep> {
    const { logins, person, who } = this.#options
    known(who)
    return logins.begin(this.#serverNamed(name), person, `${await this.#page(name)}/callback`)
  }

  async finish(
    name: string | undefined,
    answer: BrowserAnswer,
    cookie: string,
    known: Known,
  ): Promise<Finished> {
    const { browsers, logins, refresh, who } = this.#options
    known(who)
    const begun = browsers.take(answer.state, cookie, name)
    const { subject } = await logins.finish(this.#serverNamed(begun.server), begun, answer)
    refresh(begun.server)
    return { subject }
  }

  /** The tokens of a user for a server. For users other than the person at this machine, they cannot be read: see REFUSED. */
  tokens(server: LoginServer, user = this.#options.person): TokenSource {
    const { logins, person } = this.#options
    return user.key === person.key ? logins.tokens(server, user, () => this.#page(server.name)) : REFUSED
  }

  async #page(name: string): Promise<string> {
    return `${await this.#options.origin}${pathOf(name)}`
  }

  /** Throws Fault `not_found` if users do not log in to a server with this name. */
  #serverNamed(name: string): LoginServer {
    const server = this.#options.serverOf(name)
    if (!server) throw new Fault('not_found', 'There is no such server')
    return server
  }
}

/** The tokens of all other users: with `up --host`, everybody who has the gateway's token can call, but only this person can log in. */
const REFUSED: TokenSource = {
  token: async () => {
    throw new Fault('user_refused', 'only the person at this machine can log in', {
      details: { reason: 'LoginElsewhere' },
    })
  },
}
