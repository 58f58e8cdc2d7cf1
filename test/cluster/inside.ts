/** Commands of the machine run inside a cluster's network, where they see services by address and by name. */
import { writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { clientEnvironment } from './clients.ts'
import { addressesOf, DNS_DOMAIN, insideKubeconfig, type Layout } from './layout.ts'
import { insideNetwork } from './namespace.ts'

/** A command that sees the cluster's name server in place of the machine's. */
const WITH_NAMES = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'

/** The command with all that puts it inside; run it with `environmentInside`. */
export function commandInside(layout: Layout, command: readonly string[]): string[] {
  const own = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', WITH_NAMES]
  return insideNetwork(layout, 1, [...own, nameServerFile(layout), ...command])
}

/** kubectl and helm of the same build come first in PATH, and the user's proxies are not used. */
export function environmentInside(layout: Layout, path = process.env.PATH ?? ''): Record<string, string> {
  return {
    ...clientEnvironment(insideKubeconfig(layout), join(layout.folder, 'clients')),
    PATH: `${layout.bin}${delimiter}${path}`,
    NO_PROXY: '*',
  }
}

export function writeNameServerFile(layout: Layout): void {
  const search = ['default.svc', 'svc', ''].map(prefix => [prefix, DNS_DOMAIN].filter(Boolean).join('.'))
  writeFileSync(
    nameServerFile(layout),
    `nameserver ${addressesOf(layout).control}\nsearch ${search.join(' ')}\noptions ndots:5\n`,
  )
}

function nameServerFile(layout: Layout): string {
  return join(layout.folder, 'resolv.conf')
}
