/** Detects servers that are this gateway itself, for example in an imported client config that already contains it. Pure. */
import type { McpServer } from '../crds/server.ts'

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const WILDCARD = ['0.0.0.0', '[::]']
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** The program with which clients that only start commands reach a URL. */
const MCP_REMOTE = /(^|[\\/])mcp-remote(@|$)/

/** The address on which a gateway listens. */
export type Address = { host: string; port: number }

/** Whether a server's URL, or the one that it gives to mcp-remote, leads to the address. */
export function isOurselves(own: Address, { spec: { remote, npm, command } }: McpServer): boolean {
  if (remote) return leadsTo(own, remote.url)
  const args = npm?.args ?? command?.args ?? []
  const isRemote = [npm?.package, command?.run, ...args].some(word => word && MCP_REMOTE.test(word))
  return isRemote && args.some(arg => leadsTo(own, arg))
}

/** Whether a URL leads to the address. Host names are not resolved: only the address's host, loopback and wildcard addresses match. */
function leadsTo({ host, port }: Address, text: string): boolean {
  const url = URL.parse(text)
  if (!url || Number(url.port || DEFAULT_PORTS[url.protocol]) !== port) return false
  const listeningHost = host.includes(':') ? `[${host}]` : host.toLowerCase()
  return url.hostname === listeningHost || LOOPBACK.includes(url.hostname) || WILDCARD.includes(url.hostname)
}
