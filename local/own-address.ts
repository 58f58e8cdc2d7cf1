/** Detects URLs that lead to this gateway itself, for example in an imported client config that already contains it. Pure. */
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const WILDCARD = ['0.0.0.0', '[::]']
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** The address on which a gateway listens. */
export type Address = { host: string; port: number }

/** Whether a URL leads to the address. Host names are not resolved: only the address's host, loopback and wildcard addresses match. */
export function leadsTo({ host, port }: Address, text: string): boolean {
  const url = URL.parse(text)
  if (!url || Number(url.port || DEFAULT_PORTS[url.protocol]) !== port) return false
  const listeningHost = host.includes(':') ? `[${host}]` : host.toLowerCase()
  return url.hostname === listeningHost || LOOPBACK.includes(url.hostname) || WILDCARD.includes(url.hostname)
}
