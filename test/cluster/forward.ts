/** Ports of the machine's loopback that lead into a cluster's network. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { kill } from './cgroups.ts'
import { addressesOf, type Layout } from './layout.ts'
import { insideNetwork } from './namespace.ts'
import type { RelayTarget } from './relay.ts'
import { trackedCommand } from './tracked.ts'

export type Forward = { port: number; stop(): void }

/** Opens a port that leads to an address, or a name of the cluster's DNS; it stays until stopped or the cluster ends. */
export async function forward(layout: Layout, host: string, port: number): Promise<Forward> {
  const relay = [
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    join(import.meta.dirname, 'relay.ts'),
  ]
  const [file = '', ...args] = trackedCommand(layout, 'relay', insideNetwork(layout, 1, relay))
  const child = spawn(file, args, { detached: true, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  const server = createServer({ allowHalfOpen: true, noDelay: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const target: RelayTarget = { host, port, nameServer: addressesOf(layout).control }
  child.send(target, server)
  const [answer] = await Promise.race([once(child, 'message'), once(child, 'exit')])
  server.close()
  child.unref()
  if (answer !== 'ready' || typeof address !== 'object' || !address)
    throw new Error('the relay did not start')
  return { port: address.port, stop: () => child.pid && kill(child.pid) }
}
