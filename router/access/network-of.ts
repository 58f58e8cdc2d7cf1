/** Groups IPv6 addresses by network, for limits by address. Pure. */
import { isIPv6 } from 'node:net'

/**
 * The first 64 bits of an IPv6 address: a client can use every address of its /64 network. An IPv4 address is returned unchanged. Addresses
 * come from `peerAddress`, which removes the prefix of IPv4 addresses on IPv6 sockets, so that a client has the same address on both.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, '')}]`)
  const [head = '', tail = ''] = hostname.slice(1, -1).split('::')
  const [before, after] = [head, tail].map(part => part.split(':').filter(group => group !== ''))
  const zeros = hostname.includes('::')
    ? Array(8 - (before?.length ?? 0) - (after?.length ?? 0)).fill('0')
    : []
  return [...(before ?? []), ...zeros, ...(after ?? [])].slice(0, 4).join(':')
}
