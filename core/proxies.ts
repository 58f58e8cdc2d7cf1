/** Which HTTP proxy to use for a host, by the variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Pure. */
import { type BlockList, isIP, isIPv6 } from 'node:net'
import { Fault } from './errors.ts'
import { blockList, isAddressRange, isLoopback } from './host-guard.ts'
import { percentDecoded } from './percent-decoded.ts'

export type HttpProxy = {
  /** `http://proxy.example.com:3128` */
  origin: string
  /** The value of Proxy-Authorization; never logged. */
  authorization?: string
}

/** The part of a URL on which the choice depends; `hostname` of IPv6 with or without brackets. */
export type Target = { protocol: string; hostname: string; port?: string }

/** The proxy for a target; undefined to connect directly. */
export type ProxyFor = (target: Target) => HttpProxy | undefined

export type ProxyOptions = {
  /** Hosts to connect to directly, besides those of NO_PROXY, in the same form: `.svc` means all names below it. */
  direct?: readonly string[]
  /** Credentials for proxies whose URL has none. */
  credentials?: { username: string; password: string }
}

/** Names of Services, which no proxy outside of the cluster can reach. */
const IN_CLUSTER = ['.svc', '.cluster.local']
const NOT_A_PROXY = 'must be the URL of an HTTP proxy, such as http://proxy.example.com:3128'
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/**
 * As with curl, a variable in lower case takes precedence. NO_PROXY lists names (each with all names below it), names
 * with a leading dot (only those below), addresses, and subnets; names and addresses may have a port; `*` means all hosts. Connections to
 * this machine are always direct. Undefined if there are no proxies. Throws Fault `bad_request`, whose message does not contain the value.
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
  const byProtocol: Readonly<Record<string, HttpProxy | undefined>> = {
    'https:': proxy('HTTPS_PROXY'),
    'http:': proxy('HTTP_PROXY'),
  }
  if (!byProtocol['https:'] && !byProtocol['http:']) return undefined
  const isDirect = readDirect([...read('NO_PROXY').split(/[\s,]+/), ...direct])
  return target => (isDirect(target) ? undefined : byProtocol[target.protocol])
}

/** As `readProxies`, for a pod: connections to Services and the API server are direct. `username`, `password`: those of a Secret. */
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

/** The URL of a proxy; `http://` may be left out, as for curl. */
function parse(value: string): URL | undefined {
  const url = URL.parse(value.includes('://') ? value : `http://${value}`)
  return url && /^https?:$/.test(url.protocol) && url.hostname !== '' ? url : undefined
}

function decoded(name: string, text: string): string {
  const plain = percentDecoded(text)
  if (plain !== undefined) return plain
  throw new Fault('bad_request', `${name} has a user name or password that is not encoded as in a URL`)
}

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

function readDirect(entries: readonly string[]): (target: Target) => boolean {
  const rules = entries.filter(entry => entry !== '').map(readRule)
  return ({ protocol, hostname, port }) => {
    const host = withoutBrackets(hostname).toLowerCase()
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
  const address = withoutBrackets(name)
  if (isIP(address) !== 0) return { port, has: host => host === address }
  const suffix = name.replace(/^\*?\./, '')
  const includesName = suffix === name
  return { port, has: host => (includesName && host === name) || host.endsWith(`.${suffix}`) }
}

function withoutBrackets(hostname: string): string {
  return hostname.replaceAll(/[[\]]/g, '')
}
