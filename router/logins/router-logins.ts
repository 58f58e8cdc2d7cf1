/**
 * Logins of the users of a gateway with `auth.jwt`: the browser first logs in at the issuer of the gateway's callers, which shows whose login at
 * the upstream this will be. If a link was passed on to another person, they log in for themselves, or see that it is for another user.
 */
import type { OAuthClientInformationMixed } from '@modelcontextprotocol/sdk/shared/auth.js'
import type { Clock } from '../../core/async.ts'
import type { AccessConfig, JwtIssuerConfig } from '../../core/catalog/access-config.ts'
import type { RouterConfig, RouterServer, SecretKey } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import type { HostGuard } from '../../core/host-guard.ts'
import { isObject } from '../../core/json.ts'
import { beginIssuerLogin, finishLogin } from '../../core/mcp/client/http/login.ts'
import type { TokenSource } from '../../core/mcp/client/http/oauth.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { type User, userOf } from '../../core/mcp/user.ts'
import type { Found } from '../access/authentication.ts'
import { userId } from '../access/jwt.ts'
import type { Who } from '../audit/line.ts'
import { CONNECT_PATH, type ConnectHost, type Finished, pathOf } from '../http/connect-pages.ts'
import type { Known } from '../http/login-steps.ts'
import type { BegunLogin, BrowserAnswer, BrowserLogins, BrowserStep } from './browser-logins.ts'
import type { KeptLogin } from './kept-login.ts'
import { type LoginServer, type Logins, within } from './logins.ts'

/** What the pages of logins need from the router, which exists only once it runs. */
export type LoginDependencies = {
  config: () => RouterConfig | undefined
  /** As Authentication.identify. */
  identify: (access: AccessConfig, authorization: string) => Found | Promise<Found>
  /** The config as a caller sees it. */
  seenBy: (identity: Identity) => RouterConfig
}

/** The pages of logins, for a router to serve. */
export type LoginPages = {
  /** Call before there are callers. */
  attach(dependencies: LoginDependencies): void
  /** The object that answers a request that arrives now. */
  host(): ConnectHost
}

export type RouterLoginsOptions = {
  logins: Logins
  browsers: BrowserLogins
  /** What users log in to; undefined if they do not log in to this server. */
  loginServer: (server: LoginServerOf) => LoginServer | undefined
  /** The client secret of an issuer. */
  secret: (key: SecretKey) => string | undefined
  /** How issuers are reached. */
  guard: HostGuard
  clock: Clock
  /** Sends a new login to the other routers, since the next call may reach any of them. Absent: there are no others. */
  share?: (login: Pick<KeptLogin, 'name' | 'url'>, user: User) => Promise<void>
}

export type LoginServerOf = Pick<RouterServer, 'name' | 'endpoint'>

/** Limit of logins that are being started: each sends the first requests to its issuer. */
const MAX_STARTING_LOGINS = 16
/** After this time, a client that registered itself at an issuer registers again. */
const CLIENT_MS = 60 * 60_000

export class RouterLogins implements ConnectHost, LoginPages {
  readonly knowsByMachine = false
  readonly #options: RouterLoginsOptions
  /** Clients that registered themselves, by issuer and address of this gateway. */
  readonly #clients = new Map<string, { client: OAuthClientInformationMixed; untilMs: number }>()
  #dependencies: LoginDependencies | undefined
  #starting = 0

  constructor(options: RouterLoginsOptions) {
    this.#options = options
  }

  attach(dependencies: LoginDependencies): void {
    this.#dependencies = dependencies
  }

  host(): ConnectHost {
    return this
  }

  /** Whether the gateway knows its callers by an issuer, at which they can log in. */
  knowsUsers(): boolean {
    return this.#issuers().length > 0
  }

  /** What users log in to at the server with this name; undefined if nobody logs in there. */
  serverOf(name: string, config = this.#config()): LoginServer | undefined {
    const found = config?.servers.find(server => server.name === name)
    return found && found.status.state !== 'notAccepted' ? this.#options.loginServer(found) : undefined
  }

  /** Names of the servers that users log in to. */
  servers(): string[] {
    const servers = this.#config()?.servers ?? []
    return servers.filter(this.#options.loginServer).map(({ name }) => name)
  }

  /** Tokens of the user at the server. `serverNow` is called for each token, because Secrets change. */
  tokens(name: string, user: User, serverNow: () => LoginServer | undefined): TokenSource {
    const page = async () => `${await this.base()}${pathOf(name)}?for=${user.id}`
    return {
      token: async (signal, rejected) => {
        const server = serverNow()
        if (!server || !this.#isPerson(user)) throw notByPerson()
        return this.#options.logins.tokens(server, user, page).token(signal, rejected)
      },
    }
  }

  /** The public URL of the gateway. Throws Fault unavailable if its manifest has none. */
  async base(): Promise<string> {
    const url = this.#config()?.access.url
    if (url === undefined) throw new Fault('unavailable', 'The gateway has no spec.url')
    return url
  }

  /** The issuers to log in at; undefined if there are no login pages. The same for all servers: which of them users may use is known only after the login. */
  asked(): { issuers: readonly JwtIssuerConfig[] } | undefined {
    const issuers = this.#issuers()
    const hasPages = this.servers().length > 0 && this.#config()?.access.url !== undefined
    return hasPages && issuers.length > 0 ? { issuers } : undefined
  }

  async begin(
    server: string,
    { issuer: chosen, asked }: { issuer?: string; asked?: string },
  ): Promise<BrowserStep> {
    const issuer = this.asked()?.issuers.find(({ name }) => name === chosen)
    if (!issuer) throw unknownIssuer('The gateway does not admit users of this issuer')
    if (this.#starting >= MAX_STARTING_LOGINS)
      throw new Fault('unavailable', 'Too many logins begin at once; try again in a moment', {
        retryable: true,
        details: { reason: 'Busy' },
      })
    this.#starting++
    try {
      return await this.#beginAt(issuer, server, asked)
    } finally {
      this.#starting--
    }
  }

  async finish(
    server: string | undefined,
    answer: BrowserAnswer,
    cookie: string,
    known: Known,
  ): Promise<Finished> {
    const { browsers, logins, share } = this.#options
    const begun = browsers.take(answer.state, cookie, server)
    if (!begun.user) return this.#goOn(begun, answer, known)
    const who = this.#whoIs(begun.user)
    if (who) known(who)
    const target = this.#found(begun.server)
    const user = await logins.finish(target, begun, answer)
    await share?.({ name: target.name, url: target.upstream.url }, user)
    return { subject: user.subject }
  }

  async #beginAt(issuer: JwtIssuerConfig, server: string, asked: string | undefined): Promise<BrowserStep> {
    const { browsers, clock, guard } = this.#options
    const base = await this.base()
    const { login, requiredScopes, ca } = issuer
    const key = clientKey(issuer.issuer, base)
    const known = this.#clients.get(key)
    const registered = known && clock.now() < known.untilMs ? known.client : undefined
    const given = login?.clientSecret && this.#options.secret(login.clientSecret)
    const clientSecret = login?.clientId === undefined ? registered?.client_secret : given
    const target = {
      scopes: login && login.scopes.length > 0 ? login.scopes : requiredScopes,
      clientId: login?.clientId ?? registered?.client_id,
      ...(clientSecret !== undefined && { clientSecret }),
      redirectUrl: `${base}${CONNECT_PATH}`,
    }
    const place = { issuer: issuer.issuer, ...(ca !== undefined && { ca }), resource: `${base}/mcp` }
    const about = { server, of: issuer.issuer, ...(asked !== undefined && { asked }) }
    return browsers.begin(about, async state => {
      const begun = await within(clock, signal => beginIssuerLogin(place, target, state, signal, guard))
      if (target.clientId === undefined)
        this.#clients.set(key, { client: begun.client, untilMs: clock.now() + CLIENT_MS })
      return begun
    })
  }

  /** Finds out who the browser's user is, by a token of the issuer; then begins the login at the upstream. */
  async #goOn(
    { server, of, asked, login }: BegunLogin,
    answer: BrowserAnswer,
    known: Known,
  ): Promise<Finished> {
    const { clock, guard, logins } = this.#options
    const { access } = this.#config() ?? {}
    const issuers = access?.auth?.jwt ?? []
    const issuer = issuers.find(({ issuer }) => issuer === of)
    if (!access || !issuer) throw unknownIssuer('The gateway no longer admits users of this issuer')
    // All issuers redirect browsers to the same URL, so an answer without an issuer's name may come from another one.
    if (issuers.length > 1 && answer.iss === undefined)
      throw new Fault(
        'upstream_protocol',
        'The issuer does not name itself in its answer (RFC 9207), which is required if a gateway has several issuers',
        { details: { reason: 'UnnamedIssuer' } },
      )
    const place = { url: issuer.issuer, ...(issuer.ca !== undefined && { ca: issuer.ca }) }
    const { tokens } = await within(clock, signal => finishLogin(place, login, answer, signal, guard)).catch(
      async error => {
        // The issuer no longer knows the client that registered itself.
        if (isClientUnknown(error)) this.#clients.delete(clientKey(of, await this.base()))
        throw error
      },
    )
    const found = await this.#dependencies?.identify(access, `Bearer ${tokens.access_token}`)
    if (!found || 'status' in found)
      throw new Fault(
        'user_refused',
        `This gateway does not admit you: ${found?.message ?? 'it is shutting down'}`,
        {
          details: { reason: found?.reason ?? 'Unavailable' },
        },
      )
    known(found)
    const user = userOf(found, access.auth?.jwt)
    if (!user?.key.startsWith(`${of}\0`))
      throw new Fault('user_refused', 'This gateway does not admit you', {
        details: { reason: 'OtherIssuer' },
      })
    if (asked !== undefined && asked !== user.id) throw forSomebodyElse(user, of)
    const target = this.serverOf(server, this.#dependencies?.seenBy(found))
    if (!target) throw noServer(this.serverOf(server) ? 'NotGranted' : 'NotFound')
    const { subject } = user
    const step = await logins.begin(target, user, `${await this.base()}${pathOf(server)}/callback`)
    return { subject, next: { ...step, url: target.upstream.url } }
  }

  #config(): RouterConfig | undefined {
    return this.#dependencies?.config()
  }

  #issuers(): readonly JwtIssuerConfig[] {
    return this.#config()?.access.auth?.jwt ?? []
  }

  #found(name: string): LoginServer {
    const found = this.serverOf(name)
    if (!found) throw noServer('NotFound')
    return found
  }

  /** The user as the audit stream names users; undefined if the gateway no longer knows the user's issuer. */
  #whoIs({ key }: User): Who | undefined {
    const [url, subject = ''] = key.split('\0')
    const issuer = this.#issuers().find(({ issuer }) => issuer === url)?.name
    return issuer === undefined
      ? undefined
      : { id: userId(issuer, subject), kind: 'user', issuer, subject, actor: undefined }
  }

  /** Whether the user belongs to an issuer, and so can log in there. */
  #isPerson({ key }: User): boolean {
    return this.#issuers().some(({ issuer }) => key.startsWith(`${issuer}\0`))
  }
}

function clientKey(issuer: string, base: string): string {
  return `${issuer} ${base}`
}

/** Whether the issuer answered `invalid_client` (RFC 6749, section 5.2). A wrong code, which any browser can send, is another error. */
function isClientUnknown(error: unknown): boolean {
  const { cause } = error as { cause?: unknown }
  return isObject(cause) && (cause as { errorCode?: unknown }).errorCode === 'invalid_client'
}

function notByPerson(): Fault {
  return new Fault('user_refused', 'only users of an issuer of JSON Web Tokens can log in', {
    details: { reason: 'LoginNeedsPerson' },
  })
}

function unknownIssuer(message: string): Fault {
  return new Fault('bad_request', message, { details: { reason: 'UnknownIssuer' } })
}

/** The same message for both reasons, so that the page does not disclose whether there is such a server. */
function noServer(reason: 'NotGranted' | 'NotFound'): Fault {
  const message = 'There is no server of this name that you can log in to'
  return new Fault('not_found', message, { details: { reason } })
}

function forSomebodyElse({ subject }: User, issuer: string): Fault {
  return new Fault(
    'user_refused',
    `This link is for somebody else, and you are ${subject}. If that is another account of yours, log out at ${new URL(issuer).origin} and open the link once more`,
    { details: { reason: 'OtherUser' } },
  )
}
