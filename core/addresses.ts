/** The addresses that servers listen on, and the addresses of those who connect to them. */

/** All addresses: of IPv6, and of IPv4 too. */
export const ANY_ADDRESS = '::'
const ANY_IPV4 = '0.0.0.0'
/** What listening on `::` answers on a machine whose IPv6 is switched off. */
const NO_IPV6 = ['EAFNOSUPPORT', 'EADDRNOTAVAIL']
const MAPPED = '::ffff:'

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

/** The address of who connected; of IPv4 in its usual form, which `::` wraps. Undefined if the connection is closed. */
export function peerAddress(socket: { remoteAddress?: string } | null | undefined): string | undefined {
  const address = socket?.remoteAddress
  return address?.startsWith(MAPPED) ? address.slice(MAPPED.length) : address
}
