/** The addresses that servers listen on, and the addresses of the clients that connect to them. */
import { once } from 'node:events'
import type { Server } from 'node:net'
import { Fault, messageOf } from './errors.ts'

/** The host that stands for all addresses, of IPv6 and of IPv4. */
export const ANY_ADDRESS = '::'
const ANY_IPV4 = '0.0.0.0'
/** The codes of errors of listening on `::` on a machine whose IPv6 is switched off. */
const NO_IPV6 = ['EAFNOSUPPORT', 'EADDRNOTAVAIL']
/** The prefix of an IPv4 address that is written as an IPv6 address. */
const MAPPED_PREFIX = '::ffff:'

/** Listens on `host`, as `listen` does; on a machine without IPv6 `::` stands for all addresses of IPv4. */
export async function listenOn(host: string, listen: (host: string) => Promise<unknown>): Promise<void> {
  try {
    await listen(host)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (host !== ANY_ADDRESS || !NO_IPV6.includes(code)) throw error
    await listen(ANY_IPV4)
  }
}

/** Resolves when the server listens. Throws Fault `unavailable` if it cannot, for example because the port is taken. */
export async function listen(server: Server, host: string, port: number): Promise<void> {
  try {
    await listenOn(host, host => {
      server.listen({ host, port })
      return once(server, 'listening')
    })
  } catch (cause) {
    throw new Fault('unavailable', `Cannot listen on ${host} port ${port}: ${messageOf(cause)}`, { cause })
  }
}

/** The address of a connection's client. An IPv4 address has its usual form, without the prefix that a socket on `::` adds. Undefined if closed. */
export function peerAddress(socket: { remoteAddress?: string } | null | undefined): string | undefined {
  const address = socket?.remoteAddress
  return address?.startsWith(MAPPED_PREFIX) ? address.slice(MAPPED_PREFIX.length) : address
}
