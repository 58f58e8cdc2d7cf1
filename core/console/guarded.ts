/** Guards the console: only programs of this machine and the console's own page get answers, no other page. */
import type { IncomingMessage } from 'node:http'
import { JSON_TYPE } from '../mcp/server/post-response.ts'

/** No other address of 127.0.0.0/8: proxies of service meshes pass connections of other pods on from 127.0.0.6. */
const LOOPBACK_ADDRESSES: ReadonlySet<unknown> = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1'])
/** Values of Sec-Fetch-Site for requests that our own page or the user caused; absent from programs other than browsers. */
const OWN_SITES: ReadonlySet<unknown> = new Set([undefined, 'same-origin', 'none'])

const FOREIGN_PAGE = 'Only programs of this machine, and pages of this address, may request this.'

/** The headers of every answer of the console. */
export const CONSOLE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Whether the connection comes from this machine. */
export function isOnThisMachine(request: IncomingMessage): boolean {
  return LOOPBACK_ADDRESSES.has(request.socket.remoteAddress)
}

/** Why a request for data is refused; undefined if it is not. Other pages on this machine have another port, and so another origin. */
export function foreignPage({ headers }: IncomingMessage): string | undefined {
  const { origin, host } = headers
  if (origin !== undefined && !isOwnOrigin(origin, host)) return FOREIGN_PAGE
  return OWN_SITES.has(headers['sec-fetch-site']) ? undefined : FOREIGN_PAGE
}

/** Why an action is refused; undefined if it is not. For this content type, a browser first sends a foreign page's preflight request, which is refused. */
export function noActionOf(request: IncomingMessage): string | undefined {
  const { origin, host, 'content-type': type = '' } = request.headers
  if (origin === undefined || !isOwnOrigin(origin, host)) return 'Actions need the Origin of this console.'
  const [essence = ''] = type.split(';')
  return essence.trim().toLowerCase() === JSON_TYPE
    ? foreignPage(request)
    : `Actions need the content type ${JSON_TYPE}.`
}

/** Whether a Host header names this machine. A page whose host name was made to resolve to this machine (DNS rebinding) sends its own name. */
export function isLoopbackName(host: string | undefined): boolean {
  const name =
    host === undefined || /[\s/@?#\\]/.test(host) ? undefined : URL.parse(`http://${host}`)?.hostname
  return name === 'localhost' || name === '127.0.0.1' || name === '[::1]'
}

function isOwnOrigin(origin: string, host: string | undefined): boolean {
  return origin === `http://${host}`
}
