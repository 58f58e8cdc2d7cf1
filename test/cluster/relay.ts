/**
 * Carries connections from a port of the machine's loopback into a cluster's network. It runs inside that network and is
 * handed the listening socket, which stays in the machine's; `forward.ts` starts it.
 */
import { Resolver } from 'node:dns/promises'
import { connect, isIP, isIPv6, type Server, type Socket } from 'node:net'
import { pipeline } from 'node:stream'

export type RelayTarget = { host: string; port: number; nameServer: string }

process.once('message', (target: RelayTarget, server: Server) => {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  resolver.setServers([target.nameServer])
  server.on('connection', (socket: Socket) => {
    socket.setNoDelay(true)
    carry(socket, target, resolver).catch(() => socket.destroy())
  })
  process.send?.('ready', () => process.disconnect())
})

async function carry(
  socket: Socket,
  { host, port, nameServer }: RelayTarget,
  resolver: Resolver,
): Promise<void> {
  socket.on('error', () => {}) // the pipelines get it too
  const [address = host] = isIP(host)
    ? [host]
    : await (isIPv6(nameServer) ? resolver.resolve6(host) : resolver.resolve4(host))
  const inner = connect({ host: address, port, noDelay: true, allowHalfOpen: true })
  const ended = () => {} // either side's end or reset has closed the other one
  pipeline(socket, inner, ended)
  pipeline(inner, socket, ended)
}
