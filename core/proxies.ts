/** Which HTTP proxy leads to a host, as the variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY say. Pure. */
import { type BlockList, isIP, isIPv6 } from 'node:net'
import { Fault } from './errors.ts'
import { blockList, isAddressRange, isLoopback } from './host-guard.ts'

export type HttpProxy = {
  /** `http://proxy.example.com:3128` */
  origin: string
  /** The value of Proxy-Authorization; never logged. */
  authorization?: string
}

/** The part of a URL on which the choice depends; `hostname` of IPv6 with or without brackets. */
export type Target = { protocol: string; hostname: string; port?: string }

/** Undefined: the host is connected to directly. */
export type ProxyFor = (target: Target) => HttpProxy | undefined

export type ProxyOptions = {
  /** Hosts that are reached directly, besides those of NO_PROXY: `.svc` stands for all names that end so. */
  direct?: readonly string[]
  /** For proxies whose URL has none. */
  credentials?: { username: string; password: string }
}

/** Names of Services, which no proxy outside of the cluster can reach. */
const IN_CLUSTER = ['.svc', '.cluster.local']
const NOT_A_PROXY = 'must be the URL of an HTTP proxy, such as http://proxy.example.com:3128'
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/**
 * As of curl, names in small letters count first, and NO_PROXY lists names (with all below them), `.example.com`, addresses, subnets, each with
 * a port or without, or `*`. This machine is always reached directly. Undefined if there are no proxies. Throws Fault `bad_request`,
 * without the value.
 */
export function readProxies(
  env: Readonly<Record<string, string | undefined>>,
  { direct = [], credentials }: ProxyOptions = {},
): ProxyFor | undefined {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || ''
  const proxy = (name: string) => {
    const value = read(name)
    return value === '' ? undefined : proxyOf(name, value, credentials)
  }
  const by: Readonly<Record<string, HttpProxy | undefined>> = {
    'https:': proxy('HTTPS_PROXY'),
    'http:': proxy('HTTP_PROXY'),
  }
  if (!by['https:'] && !by['http:']) return undefined
  const isDirect = readDirect([...read('NO_PROXY').split(/[\s,]+/), ...direct])
  return target => (isDirect(target) ? undefined : by[target.protocol])
}

/** As `readProxies`, for a pod: Services and the API server are reached directly. `credentials`: of a Secret. */
export function clusterProxies(
  env: Readonly<Record<string, string | undefined>>,
  { username, password = '' }: { username?: string; password?: string } = {},
): ProxyFor | undefined {
  return readProxies(env, {
    direct: [...IN_CLUSTER, env.KUBERNETES_SERVICE_HOST ?? ''],
    ...(username && { credentials: { username, password } }),
  })
}

/** Whether the URL of a proxy has a user name or a password. */
export function hasCredentials(value: string): boolean {
  const url = parse(value)
  return url !== undefined && `${url.username}${url.password}` !== ''
}

function proxyOf(name: string, value: string, credentials: ProxyOptions['credentials']): HttpProxy {
  const url = parse(value)
  if (!url) throw new Fault('bad_request', `${name} ${NOT_A_PROXY}`)
  const { origin, username, password } = url
  if (username !== '' || password !== '')
    return { origin, authorization: basic(decoded(name, username), decoded(name, password)) }
  return credentials
    ? { origin, authorization: basic(credentials.username, credentials.password) }
    : { origin }
}

/** `proxy.example.com:3128` is short for a URL, as for curl. */
function parse(value: string): URL | undefined {
  const url = URL.parse(value.includes('://') ? value : `http://${value}`)
  return url && /^https?:$/.test(url.protocol) && url.hostname !== '' ? url : undefined
}

function decoded(name: string, text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Fault('bad_request', `${name} has a user name or password that is not encoded as in a URL`)
  }
}

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

function readDirect(entries: readonly string[]): (target: Target) => boolean {
  const rules = entries.filter(entry => entry !== '').map(readRule)
  return ({ protocol, hostname, port }) => {
    const host = bare(hostname).toLowerCase()
    const urlHost = isIPv6(host) ? `[${host}]` : host
    if (isLoopback({ hostname: urlHost })) return true
    const at = port || DEFAULT_PORTS[protocol]
    return rules.some(rule => (rule.port === undefined || rule.port === at) && rule.has(host))
  }
}

type Rule = { port?: string; has(host: string): boolean }

function readRule(entry: string): Rule {
  if (entry === '*') return { has: () => true }
  if (isAddressRange(entry)) {
    const list: BlockList = blockList([entry])
    return { has: host => isIP(host) !== 0 && list.check(host, isIPv6(host) ? 'ipv6' : 'ipv4') }
  }
  const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
  const address = bare(name)
  if (isIP(address) !== 0) return { port, has: host => host === address }
  const suffix = name.replace(/^\*?\./, '')
  const own = suffix === name
  return { port, has: host => (own && host === name) || host.endsWith(`.${suffix}`) }
}

function bare(hostname: string): string {
  return hostname.replaceAll(/[[\]]/g, '')
}
