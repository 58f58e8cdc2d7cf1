/** Logins of users at upstreams: begun in a browser, completed once, stored, and renewed once for all waiting calls. */
import type { Clock } from '../../core/async.ts'
import { waitFor } from '../../core/deadline.ts'
import { Fault } from '../../core/errors.ts'
import { type HostGuard, isLoopback } from '../../core/host-guard.ts'
import { beginLogin, finishLogin, type LoginTarget, refreshLogin } from '../../core/mcp/client/http/login.ts'
import type { TokenSource } from '../../core/mcp/client/http/oauth.ts'
import { isOfIssuer } from '../../core/mcp/client/http/oauth-discovery.ts'
import { upstreamDeadline } from '../../core/mcp/upstream-deadline.ts'
import type { User } from '../../core/mcp/user.ts'
import {
  type BegunLogin,
  type BrowserAnswer,
  type BrowserLogins,
  type BrowserStep,
  loginOver,
} from './browser-logins.ts'
import type { KeptLogin, LoginStore } from './kept-login.ts'

/** A server that users log in to, from its manifest. */
export type LoginServer = Omit<LoginTarget, 'redirectUrl'> & { name: string }

export type LoginsOptions = {
  store: LoginStore
  browsers: BrowserLogins
  clock: Clock
  /** How authorization servers are reached. Absent: directly. */
  guard?: HostGuard
  /** Lets another process renew a login if that process is responsible for it. Resolves with undefined if this process is. */
  elsewhere?: (renewal: Renewal) => Promise<{ login: KeptLogin | undefined } | undefined>
}

/** `rejected`: the token that the upstream refused. */
export type Renewal = { kept: KeptLogin; user: User; rejected?: string }

/** How long an authorization server may take to answer. */
const ANSWER_MS = 10_000
/** A token is renewed this long before it expires. */
const RENEW_BEFORE_MS = 30_000
/** How long a token counts as valid if the authorization server does not say it. */
const UNKNOWN_LIFE_MS = 5 * 60_000
/** If a renewed token is refused within this time, renewing it again would not help, and would never end. */
const TRIED_MS = 60_000

export class Logins {
  readonly #options: LoginsOptions
  /** Renewals that run here, by server, URL and user. */
  readonly #renewing = new Map<string, Promise<KeptLogin | undefined>>()
  /** Renewals that another process does. They are separate, since two processes that ask each other would wait forever. */
  readonly #asking = new Map<string, Promise<{ login: KeptLogin | undefined } | undefined>>()
  /** Running work whose result may be a login that has to be stored, with its server. */
  readonly #running = new Map<Promise<unknown>, string>()

  constructor(options: LoginsOptions) {
    this.#options = options
  }

  /** The page to send the browser to. Throws Faults. */
  begin(server: LoginServer, user: User, redirectUrl: string): Promise<BrowserStep> {
    const { browsers, clock, guard } = this.#options
    return browsers.begin({ server: server.name, user, of: server.upstream.url }, state =>
      within(clock, signal => beginLogin({ ...server, redirectUrl }, state, signal, guard)),
    )
  }

  /** Exchanges the code in `answer` for tokens and stores them. Returns the user who has logged in. Throws Faults. */
  finish(server: LoginServer, begun: BegunLogin, answer: BrowserAnswer): Promise<User> {
    return this.#tracked(server.name, this.#finish(server, begun, answer))
  }

  async #finish(
    server: LoginServer,
    { login: pending, user, of: url }: BegunLogin,
    answer: BrowserAnswer,
  ): Promise<User> {
    const { clock, guard, store } = this.#options
    if (!user || url !== server.upstream.url || !isOfIssuer(pending.server, server.issuer))
      throw loginOver('AddressChanged')
    const { name, upstream } = server
    const login = await within(clock, signal => finishLogin(upstream, pending, answer, signal, guard))
    const now = clock.now()
    await store.write({ ...login, name, url, subject: user.subject, sinceMs: now, renewedMs: now }, user)
    return user
  }

  /** Tokens of one user; without a login, throws Fault user_refused with the page to log in at. */
  tokens(server: LoginServer, user: User, page: () => Promise<string>): TokenSource {
    return {
      token: async (signal, rejected) => {
        const found = await waitFor(this.newest(server, user, rejected), signal)
        if (found) return found.tokens.access_token
        const address = await waitFor(page(), signal)
        const details = { reason: 'NeedsLogin', page: address, here: isLoopback(new URL(address)) }
        throw new Fault('user_refused', `log in at ${address}`, { details })
      },
    }
  }

  /**
   * A login whose token is still valid and not the rejected one, renewed if need be; undefined if the user has to log in. `isMine`: this
   * process is to renew it, whichever is responsible. Throws Faults.
   */
  newest(server: LoginServer, user: User, rejected?: string, isMine = false): Promise<KeptLogin | undefined> {
    return this.#tracked(server.name, this.#newest(server, user, rejected, isMine))
  }

  /** Resolves once no login or renewal runs. If the process ended during a renewal, the login would be lost, since a refresh token is valid once. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running.keys())
  }

  #tracked<T>(server: string, work: Promise<T>): Promise<T> {
    const running = work.finally(() => this.#running.delete(running))
    this.#running.set(running, server)
    return running
  }

  async #newest(
    { name, upstream: { url }, issuer, clientId, clientSecret }: LoginServer,
    user: User,
    rejected: string | undefined,
    isMine: boolean,
  ): Promise<KeptLogin | undefined> {
    const { store, clock } = this.#options
    const found = await store.read(name, url, user)
    if (!found || !isOfIssuer(found.server, issuer)) return undefined
    // The authorization server does not renew a login of another client.
    if (clientId !== undefined && clientId !== found.client.client_id) return undefined
    const client = clientId !== undefined && { client_id: clientId, client_secret: clientSecret }
    const kept = client ? { ...found, client } : found
    if (kept.tokens.access_token !== rejected && clock.now() < renewAt(kept)) return kept
    const renewal = { kept, user, ...(rejected !== undefined && { rejected }) }
    const others = isMine ? undefined : await this.#askElsewhere(renewal)
    return others ? others.login : this.#renew(renewal)
  }

  /** Deletes the logins at a deleted server. Does so twice: a login that is being completed or renewed is written afterwards. */
  async forget(name: string, deleteAll: () => Promise<unknown>): Promise<void> {
    await deleteAll()
    const running = [...this.#running].filter(([, server]) => server === name)
    await Promise.allSettled(running.map(([work]) => work))
    await deleteAll()
  }

  #askElsewhere(due: Renewal): Promise<{ login: KeptLogin | undefined } | undefined> {
    const { elsewhere = async () => undefined } = this.#options
    const key = keyOf(due)
    const running = this.#asking.get(key)
    if (running) return running
    const asking = elsewhere(due).finally(() => this.#asking.delete(key))
    this.#asking.set(key, asking)
    return asking
  }

  #renew(due: Renewal): Promise<KeptLogin | undefined> {
    const key = keyOf(due)
    const running = this.#renewing.get(key)
    if (running) return running
    const renewal = this.#renewNow(due).finally(() => this.#renewing.delete(key))
    this.#renewing.set(key, renewal)
    return renewal
  }

  /** Renews a login at the authorization server and stores it; deletes it and returns undefined if it cannot be renewed. */
  async #renewNow({ kept, user, rejected }: Renewal): Promise<KeptLogin | undefined> {
    const { store, clock, guard } = this.#options
    // It may have been renewed here while another process was asked.
    const current = await store.read(kept.name, kept.url, user)
    if (current?.tokens.access_token !== kept.tokens.access_token) return current
    const wasTried =
      kept.tokens.access_token === rejected &&
      kept.renewedMs > kept.sinceMs &&
      clock.now() - kept.renewedMs < TRIED_MS
    const login = wasTried
      ? undefined
      : await within(clock, signal => refreshLogin(kept, kept.url, signal, guard))
    const now = await store.read(kept.name, kept.url, user)
    // It was deleted meanwhile, or another process was faster and has used the refresh token, which is valid once.
    if (now?.tokens.access_token !== kept.tokens.access_token) return now
    if (!login || login.tokens.access_token === rejected) {
      await store.delete(kept.name, kept.url, user)
      return undefined
    }
    const renewed = { ...kept, ...login, renewedMs: clock.now() }
    await store.write(renewed, user)
    return renewed
  }
}

/** Runs `work` within the time that an authorization server has to answer; then its signal aborts. */
export async function within<T>(clock: Clock, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = upstreamDeadline(clock, ANSWER_MS, 'The authorization server does not answer in time')
  try {
    return await work(limit.signal)
  } finally {
    limit.clear()
  }
}

function keyOf({ kept: { name, url }, user }: Renewal): string {
  return JSON.stringify([name, url, user.key])
}

/** When a login is to be renewed, in milliseconds since the epoch. */
function renewAt({ tokens: { expires_in: seconds }, renewedMs }: KeptLogin): number {
  const lifeMs = seconds === undefined ? UNKNOWN_LIFE_MS : seconds * 1_000
  return renewedMs + lifeMs - Math.min(RENEW_BEFORE_MS, lifeMs / 10)
}
