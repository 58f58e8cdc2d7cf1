/** The pages /connect/<server>, at which the user of a browser logs in to a server. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { peerAddress } from '../../core/addresses.ts'
import { Fault } from '../../core/errors.ts'
import { isLoopback } from '../../core/host-guard.ts'
import type { Log } from '../../core/log.ts'
import { NAME_PATTERN } from '../../crds/object-meta.ts'
import { type Limited, limitedSentence, secondsOf } from '../access/limits.ts'
import type { LoginShares } from '../access/login-shares.ts'
import { type BrowserAnswer, type BrowserStep, PENDING_MS, serverOfState } from '../logins/browser-logins.ts'
import type { App, OnRequest } from './app.ts'
import type { Known, LoginSteps } from './login-steps.ts'
import { AUDIT_BLOCKED } from './mcp-route.ts'

/** Who logs in where. */
export type ConnectHost = {
  /** Whether the user is whoever is at this machine: then only browsers of this machine are served. */
  readonly knowsByMachine: boolean
  /** The URL that `/connect` of these pages is under, which authorization servers send the browser back to. Never taken from a request. */
  base(): Promise<string>
  /** What the page shows. Undefined: users do not log in to this server or, if the user is not known yet, to any server. */
  asked(server: string): Asked | undefined
  /** `issuer`: the one that the user of the browser has chosen. `asked`: the id of the user whom the link was made for. Throws Faults. */
  begin(server: string, choice: { issuer?: string; asked?: string }, known: Known): Promise<BrowserStep>
  /** `server`: that of the address which the browser came back to, if it has one. Throws Faults. */
  finish(server: string | undefined, answer: BrowserAnswer, cookie: string, known: Known): Promise<Finished>
}

/** Who the user of the browser is, and the upstream's address; or at which issuers that is found out first. */
export type Asked =
  | { subject: string; url: string }
  | { issuers: readonly { name: string; issuer: string }[] }

/** Without `next`, the user is logged in to the server. */
export type Finished = { subject: string; next?: BrowserStep & { url: string } }

export const CONNECT_PATH = '/connect'

type Query = Record<string, unknown>
type PageRequest = FastifyRequest<{ Params: { server: string }; Querystring: Query }>

const COOKIE = 'portolan-connect'
const NO_SERVER = 'There is no server of this name that you can log in to'
const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  // With no-referrer, browsers hide the Origin of the form.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
}

export type ConnectPagesOptions = {
  /** Who answers a request that comes now. */
  host: () => ConnectHost
  /** Which requests a host answers. */
  admit: (host: ConnectHost) => OnRequest
  shares: LoginShares
  steps: LoginSteps
  log: Log
}

type Answer = (
  means: Pick<ConnectPagesOptions, 'shares' | 'steps'> & { host: ConnectHost },
  request: PageRequest,
  reply: FastifyReply,
) => Promise<void>

export function addConnectPages({ fastify }: App, options: ConnectPagesOptions): void {
  const { host: hostNow, admit, shares, steps, log } = options
  // Handled before the body of a form is parsed, which nothing reads.
  const route = (method: 'GET' | 'POST', url: string, answer: Answer) =>
    fastify.route<{ Params: { server: string }; Querystring: Query }>({
      method,
      url,
      onRequest(request, reply) {
        const host = hostNow()
        admit(host)(request, reply, () => {
          if (steps.isBlocked()) return unavailablePage(reply, AUDIT_BLOCKED)
          void answering(reply, log, () => answer({ host, shares, steps }, request, reply))
        })
      },
      handler: () => {},
    })
  route('GET', `${CONNECT_PATH}/:server`, invite)
  route('POST', `${CONNECT_PATH}/:server`, begin)
  route('GET', CONNECT_PATH, comeBack)
  route('GET', `${CONNECT_PATH}/:server/callback`, comeBack)
}

const invite: Answer = async ({ host }, { params: { server }, headers, query }, reply) => {
  const asked = askedOf(host, server)
  if (!asked) return page(reply, 404, `${NO_SERVER}.`)
  const base = new URL(await host.base())
  // The cookie must be set for the host that the browser is sent back to. Other hosts than loopback may be renamed by a proxy.
  const wanted = textOf(query.for)
  const search = wanted === undefined ? '' : `?${new URLSearchParams({ for: wanted })}`
  if (isLoopback(base) && headers.host !== base.host)
    return void reply.redirect(`${base.origin}${pathOf(server)}${search}`, 302)
  page(reply, 200, invitation(server, asked, wanted))
}

const begin: Answer = ({ host, shares, steps }, { params: { server }, headers, query, raw }, reply) =>
  steps.take({ method: 'login/begin', server }, raw, async known => {
    const base = await host.base()
    if (headers.origin !== new URL(base).origin) throw ofOtherOrigin()
    if (!askedOf(host, server)) throw noServer()
    const entered = shares.enter(peerAddress(raw.socket))
    if ('text' in entered) throw tooMany(entered)
    const choice = { issuer: textOf(query.issuer), asked: textOf(query.for) }
    const { to, cookie } = await host.begin(server, choice, known).finally(entered.leave)
    reply.headers({ 'set-cookie': setCookie(base, server, cookie), 'cache-control': 'no-store' })
    reply.redirect(to.href, 303)
  })

const comeBack: Answer = ({ host, steps }, { params, query, headers, raw }, reply) => {
  const { state, code, iss } = query
  const server = typeof state === 'string' ? serverOfState(state) : (params.server ?? '')
  const method = params.server === undefined ? 'login/identify' : 'login/complete'
  return steps.take({ method, server }, raw, async known => {
    if (typeof state !== 'string' || typeof code !== 'string') throw notGiven()
    const base = await host.base()
    const cookie = cookieOf(headers.cookie, cookieName(base, server))
    const answer = { state, code, iss: textOf(iss) }
    const { subject, next } = await host.finish(params.server, answer, cookie, known)
    reply.header('set-cookie', setCookie(base, server, next?.cookie ?? ''))
    page(reply, 200, next ? onward(server, subject, next) : done(server, subject))
  })
}

function askedOf(host: ConnectHost, server: string): Asked | undefined {
  return NAME_PATTERN.test(server) ? host.asked(server) : undefined
}

/** The path of the page of a server. */
export function pathOf(server: string): string {
  return `${CONNECT_PATH}/${encodeURIComponent(server)}`
}

/** The first page, with a form to log in. It shows no address of the server before the user is known. */
function invitation(server: string, asked: Asked, wanted: string | undefined): string {
  if ('url' in asked) {
    const text = `The server <b>${escaped(server)}</b> (${escaped(asked.url)}) can be used by <b>${escaped(asked.subject)}</b> through this gateway after a login.`
    return `${text}</p><form method="post"><button>Log in</button></form><p>`
  }
  const forms = asked.issuers.map(({ name, issuer }) => {
    const query = new URLSearchParams({ issuer: name, ...(wanted !== undefined && { for: wanted }) })
    const button = `<button>Log in at ${escaped(issuer)}</button>`
    return `<form method="post" action="?${escaped(String(query))}">${button}</form>`
  })
  return `To use your account at the server <b>${escaped(server)}</b> through this gateway, log in twice: here first, so that the gateway knows who you are, then at the server.</p>${forms.join('')}<p>`
}

/** The page between the two logins of a user whom the gateway now knows. */
function onward(server: string, subject: string, { to, url }: NonNullable<Finished['next']>): string {
  const text = `You are <b>${escaped(subject)}</b>. The server <b>${escaped(server)}</b> (${escaped(url)}) will be used with the account that you log in to now, for your calls through this gateway and nobody else's.`
  return `${text}</p><p><a href="${escaped(to.href)}">Log in at ${escaped(to.origin)}</a>`
}

function done(server: string, subject: string): string {
  return `Logged in to <b>${escaped(server)}</b> for ${escaped(subject)}. Close this page, and repeat the call.`
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Browsers send a cookie with the prefix `__Host-` to no other host, and accept it only over TLS. */
function cookieName(base: string, server: string): string {
  return `${base.startsWith('https:') ? '__Host-' : ''}${COOKIE}-${server}`
}

/** The value of a Set-Cookie header. An empty `value` deletes the cookie. */
function setCookie(base: string, server: string, value: string): string {
  const { protocol } = new URL(base)
  const seconds = value === '' ? 0 : PENDING_MS / 1_000
  const secure = protocol === 'https:' ? '; Secure' : ''
  return `${cookieName(base, server)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
}

const STATUS: Partial<Record<Fault['code'], number>> = {
  bad_request: 400,
  not_found: 404,
  user_refused: 403,
  unavailable: 503,
}

function noServer(): Fault {
  return new Fault('not_found', NO_SERVER)
}

function ofOtherOrigin(): Fault {
  const details = { reason: 'OtherOrigin' }
  return new Fault('user_refused', 'Only the page of this gateway can begin a login', { details })
}

function notGiven(): Fault {
  const details = { reason: 'Cancelled' }
  const message = 'The login was refused or cancelled. To try again, open the link once more'
  return new Fault('bad_request', message, { details })
}

function tooMany(limited: Limited): Fault {
  const { text, waitMs } = limited
  const details = { reason: 'LoginLimit', limit: text, waitMs }
  return new Fault('unavailable', limitedSentence(limited).replace(/\.$/, ''), { retryable: true, details })
}

/** Answers what `work` throws with a page, and logs it. */
async function answering(reply: FastifyReply, log: Log, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof Fault)) log.error({ err: error }, 'a login failed unexpectedly')
    else log.warn({ code: error.code, error: error.message }, 'a login failed')
    const why = error instanceof Fault ? error.message : 'An unexpected error happened'
    reply.removeHeader('set-cookie')
    const { waitMs } = error instanceof Fault ? error.details : {}
    if (typeof waitMs === 'number') reply.header('retry-after', secondsOf(waitMs))
    const status = (error instanceof Fault && STATUS[error.code]) || 502
    page(reply, waitMs === undefined ? status : 429, `${escaped(why)}.`)
  }
}

function unavailablePage(reply: FastifyReply, why: string): void {
  page(reply.header('retry-after', '1'), 503, `${escaped(why)}; try again in a second.`)
}

function page(reply: FastifyReply, status: number, html: string): void {
  const title = '<!doctype html><meta charset="utf-8"><title>Portolan</title>'
  reply.code(status).headers(HEADERS).send(`${title}<p>${html}</p>\n`)
}

/** The value of a cookie in a Cookie header; empty if there is none. */
function cookieOf(header = '', name: string): string {
  const pairs = header.split(';').map(pair => pair.trim().split('='))
  return pairs.find(([each]) => each === name)?.[1] ?? ''
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, character => ESCAPES[character] ?? character)
}
