/** Refuses connections to forbidden addresses, for hosts that manifests name: whether a URL contains the address, or a name that resolves to it. */
import { type LookupAddress, lookup } from 'node:dns'
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net'
import type { Fault } from './errors.ts'
import type { ProxyFor } from './proxies.ts'

export type HostGuard = {
  /** Throws the refusal if the URL's host is a forbidden address. If it is a name, `lookup` checks its addresses when a connection is opened. */
  check(url: URL): void
  /** Resolves a name and checks its addresses. Connections must use it as their `lookup` option: a name that is resolved again could have another address. Absent: names may have any address. */
  lookup?: LookupFunction
  /** Which proxy to use for a host. Absent: none. */
  proxyFor?: ProxyFor
}

export type HostRules = {
  /** Forbidden addresses and subnets, besides those that are always forbidden (NEVER). */
  refused?: readonly string[]
  /** Hosts that may have any address. */
  allowed?: readonly string[]
  /** `named`: only `localhost` and addresses may lead to loopback, not names that resolve to it. `none`: nothing may. */
  loopback: 'named' | 'none'
  refusal: (hostname: string, address: string) => Fault
  proxyFor?: ProxyFor
}

/** Link-local addresses, other addresses at which clouds serve the credentials of their machines, and unspecified ones. */
const NEVER = [
  '169.254.0.0/16',
  // Alibaba's and Azure's metadata.
  '100.100.100.200',
  '168.63.129.16',
  '0.0.0.0/8',
  'fe80::/10',
  '::',
  'fd00:ec2::254',
  // The link-local and metadata addresses of IPv4 within IPv6: IPv4-compatible (`::` before the address), NAT64 (RFC 6052) and 6to4.
  // A BlockList compares IPv4-mapped ones (`::ffff:` before the address) with the entries for IPv4.
  '::a9fe:0/112',
  '::6464:64c8',
  '::a83f:8110',
  '64:ff9b::a9fe:0/112',
  '64:ff9b::6464:64c8',
  '64:ff9b::a83f:8110',
  '2002:a9fe::/32',
  '2002:6464:64c8::/48',
  '2002:a83f:8110::/48',
  // Addresses of local NAT64 prefixes (RFC 8215): the position of the IPv4 address in them is not known.
  '64:ff9b:1::/48',
]
const LOOPBACK = blockList(['127.0.0.0/8', '::1', '::7f00:0/104', '64:ff9b::7f00:0/104'])

/** Throws if `refused` has a text that is neither an address nor a subnet. */
export function createHostGuard({
  refused = [],
  allowed = [],
  loopback,
  refusal,
  proxyFor,
}: HostRules): HostGuard {
  const never = blockList([...NEVER, ...refused])
  const checkAddress = (address: string, hostname: string) => {
    if (allowed.includes(hostname)) return
    const isForbiddenLoopback = isIn(LOOPBACK, address) && (loopback === 'none' || !namesLoopback(hostname))
    if (isForbiddenLoopback || isIn(never, address)) throw refusal(hostname, address)
  }
  return {
    proxyFor,
    check({ hostname }) {
      const host = withoutBrackets(hostname)
      if (isIP(host) !== 0) checkAddress(host, host)
    },
    lookup(hostname, options, callback) {
      lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
        if (error) return callback(error, [])
        try {
          for (const { address } of found) checkAddress(address, hostname)
        } catch (thrown) {
          return callback(thrown as Error, [])
        }
        if (options.all) return callback(null, found)
        const [first] = found
        callback(null, first?.address ?? '', first?.family)
      })
    },
  }
}

/** The guard of a laptop, whose manifests may name any host: it only finds proxies. Undefined without proxies: then no guard is needed. */
export function anyHost(proxyFor: ProxyFor | undefined): HostGuard | undefined {
  return proxyFor && { check() {}, proxyFor }
}

/** Whether a text is an address, or a subnet such as 10.0.0.0/8. */
export function isAddressRange(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (prefix === undefined) return longest > 0
  return rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= longest
}

/** Whether a URL says that it is on this machine. */
export function isLoopback({ hostname }: Pick<URL, 'hostname'>): boolean {
  const address = withoutBrackets(hostname)
  return hostname === 'localhost' || (isIP(address) !== 0 && isIn(LOOPBACK, address))
}

function namesLoopback(hostname: string): boolean {
  return hostname === 'localhost' || isIP(hostname) !== 0
}

function withoutBrackets(hostname: string): string {
  return hostname.replaceAll(/[[\]]/g, '')
}

/** An address of a lookup may name its interface: `fe80::1%eth0`. */
function isIn(list: BlockList, address: string): boolean {
  const plain = address.replace(/%.*$/, '')
  return list.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4')
}

/** A list of addresses and subnets such as 10.0.0.0/8. Throws if a text is neither. */
export function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return list
}
