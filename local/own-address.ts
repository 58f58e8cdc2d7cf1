/** Whether a URL leads back to this very gateway, as in a client's list of servers that it was taken from. Pure. */
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const WILDCARD = ['0.0.0.0', '[::]']
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** Where a gateway listens. */
export type Address = { host: string; port: number }

/** Of names, only those of this machine are known to lead here. */
export function leadsTo({ host, port }: Address, text: string): boolean {
  const url = URL.parse(text)
  if (!url || Number(url.port || DEFAULT_PORTS[url.protocol]) !== port) return false
  const own = host.includes(':') ? `[${host}]` : host.toLowerCase()
  return url.hostname === own || LOOPBACK.includes(url.hostname) || WILDCARD.includes(url.hostname)
}
