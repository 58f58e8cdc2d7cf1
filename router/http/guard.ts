/** Host and Origin checks that protect against web pages (DNS rebinding), and CORS headers for the pages that are allowed. */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

export type Guard = {
  /** Why the request is refused; undefined if it is allowed. */
  refusal(headers: IncomingHttpHeaders): string | undefined
  /** CORS headers for an allowed origin; none without an Origin. */
  corsHeaders(headers: IncomingHttpHeaders): Record<string, string>
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const WILDCARD = ['0.0.0.0', '::']
/** Characters of a URL that cannot be in a Host header. */
const NOT_A_HOST = /[\s/@?#\\]/
const PREFLIGHT_SECONDS = 600
const ALLOWED_HEADERS =
  'accept, authorization, baggage, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, traceparent, tracestate'
/** Headers of 2026-07-28 that tools define; only these are allowed besides the fixed list. */
const PARAM_HEADER = /^mcp-param-[a-z0-9!#$%&'*+.^_`|~-]{1,128}$/

const SECURE = 'https://'

/** In the allowed hosts: accept any Host. */
const ANY_HOST = '*'

/**
 * Names are compared without ports: a page that rebinds its name still sends that name. Allowed as Host are loopback names, `host`,
 * `allowedHosts`, and any IP address if the server listens on all addresses (an address cannot be rebound). An Origin must be one of
 * these names, never a foreign address; a request without Origin does not come from a browser. If any Host is allowed, as in a
 * cluster whose names we do not know, a page may also call the host that it was loaded from, over https: no certificate follows a
 * name to another address, while a page loaded over plain http may have rebound its own name to a forwarded port.
 */
export function createGuard(host: string, allowedHosts: readonly string[]): Guard {
  const names = new Set([...LOOPBACK, host, ...allowedHosts].map(asInUrl))
  const anyHost = names.delete(ANY_HOST)
  const anyAddress = WILDCARD.includes(host)
  let lastHost: string | undefined

  function isOurs(asked: string): boolean {
    const name = NOT_A_HOST.test(asked) ? undefined : hostnameOf(`http://${asked}`)
    if (name === undefined) return false
    return anyHost || names.has(name) || (anyAddress && isIP(name.replaceAll(/[[\]]/g, '')) !== 0)
  }

  function isOwnPage(origin: string, asked: string): boolean {
    return anyHost && origin.startsWith(SECURE) && hostnameOf(origin) === hostnameOf(`http://${asked}`)
  }

  return {
    refusal({ host: asked = '', origin }) {
      if (asked !== lastHost) {
        if (!isOurs(asked))
          return `Host "${shown(asked)}" is not allowed; allowed are ${[...names].join(', ')}`
        lastHost = asked
      }
      if (origin === undefined) return undefined
      const from = hostnameOf(origin)
      if (from !== undefined && (names.has(from) || isOwnPage(origin, asked))) return undefined
      return `Origin "${shown(origin)}" is not allowed`
    },
    corsHeaders(headers) {
      if (headers.origin === undefined) return {}
      const cors: Record<string, string> = {
        'access-control-allow-origin': headers.origin,
        'access-control-expose-headers':
          'mcp-session-id, mcp-protocol-version, retry-after, www-authenticate',
        vary: 'Origin',
      }
      const method = headers['access-control-request-method']
      return method === undefined ? cors : { ...cors, ...preflight(headers) }
    },
  }
}

function preflight(headers: IncomingHttpHeaders): Record<string, string> {
  const asked = headers['access-control-request-headers']?.toLowerCase().split(',') ?? []
  const params = asked.map(name => name.trim()).filter(name => PARAM_HEADER.test(name))
  return {
    'access-control-allow-methods': 'POST, GET, DELETE, OPTIONS',
    'access-control-allow-headers': [ALLOWED_HEADERS, ...params].join(', '),
    'access-control-max-age': `${PREFLIGHT_SECONDS}`,
  }
}

function hostnameOf(url: string): string | undefined {
  return URL.parse(url)?.hostname || undefined
}

/** A name as browsers write it: lower case, IPv6 addresses in brackets and in their shortest form, without a port. */
function asInUrl(name: string): string {
  return hostnameOf(`http://${isIP(name) === 6 ? `[${name}]` : name}`) ?? name
}

function shown(text: string): string {
  return text.slice(0, 100)
}
