/** Logins in progress in a browser. Their state is encrypted in a cookie until the browser comes back, so that any replica can continue. */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { Fault } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import type { PendingLogin } from '../../core/mcp/client/http/login.ts'
import type { User } from '../../core/mcp/user.ts'
import type { Seal } from './seal.ts'

/** What a browser logs in to: with `user`, the upstream for this user; without it, an issuer of the gateway, to find out who the user is. */
export type BrowserLogin = {
  server: string
  /** The URL of the upstream, or of the issuer. */
  of: string
  user?: User
  /** The id of the user whom the link was made for. */
  asked?: string
}

/** Where to redirect the browser, and the cookie to set. */
export type BrowserStep = { to: URL; cookie: string }

/** The query parameters with which the authorization server redirects the browser back (RFC 6749, section 4.1.2; `iss`: RFC 9207). */
export type BrowserAnswer = { state: string; code: string; iss: string | undefined }

export type BegunLogin = BrowserLogin & { login: PendingLogin; untilMs: number }

/** Browsers store cookies of up to 4096 bytes, including name and attributes. */
const MAX_COOKIE_CHARACTERS = 3_800
/** A browser has this long to come back. */
export const PENDING_MS = 10 * 60_000
const MAX_USED = 1_024
const STATE_BYTES = 32

export class BrowserLogins {
  readonly #seal: Seal
  readonly #clock: Clock
  /** States that were used here, since each is valid once. If one is used again at another replica, its code has already been exchanged. */
  readonly #used = new BoundedMap<true>(MAX_USED)

  constructor(seal: Seal, clock: Clock) {
    this.#seal = seal
    this.#clock = clock
  }

  /** Creates a state, and calls `start` to begin the login with it. Throws Faults. */
  async begin(
    about: BrowserLogin,
    start: (state: string) => Promise<PendingLogin & { url: URL }>,
  ): Promise<BrowserStep> {
    const state = `${about.server}.${randomBytes(STATE_BYTES).toString('base64url')}`
    const { url: to, ...login } = await start(state)
    const pending: BegunLogin = { ...about, login, untilMs: this.#clock.now() + PENDING_MS }
    const cookie = this.#seal.close(JSON.stringify(pending), state)
    if (cookie.length > MAX_COOKIE_CHARACTERS)
      throw new Fault(
        'upstream_protocol',
        'The metadata of the authorization server is too long for a cookie',
      )
    return { to, cookie }
  }

  /**
   * Returns the login with this state. Throws Fault bad_request unless this browser began it within PENDING_MS and has not used it yet. `server`: the one
   * that the address names to which the browser came back; undefined at the address for answers of issuers. A code that an authorization server sent to one must not be exchanged at another (the mix-up of RFC 9700, section 4.4).
   */
  take(state: string, cookie: string, server: string | undefined): BegunLogin {
    if (this.#used.has(state)) throw loginOver('StateUsed')
    const text = this.#seal.open(cookie, state)
    const pending: unknown = text === undefined ? undefined : JSON.parse(text)
    if (!isPending(pending)) throw loginOver('UnknownState')
    if (pending.untilMs < this.#clock.now()) throw loginOver('StateExpired')
    this.#used.set(state, true)
    if (server !== (pending.user && pending.server))
      throw new Fault('bad_request', 'This login was begun for another server', {
        details: { reason: 'OtherServer' },
      })
    return pending
  }
}

/** Browsers get the same message for every reason; only the audit stream names the reason. */
export function loginOver(reason: string): Fault {
  return new Fault('bad_request', 'This login was not begun here, or is over', { details: { reason } })
}

/** The server that a state was created for. The cookie of another server cannot be decrypted with it. */
export function serverOfState(state: string): string {
  return state.split('.', 1)[0] ?? ''
}

/** Only this program encrypts the cookie, but another version may have used another form. */
function isPending(value: unknown): value is BegunLogin {
  return isObject(value) && isObject(value.login) && typeof value.untilMs === 'number' && 'of' in value
}
