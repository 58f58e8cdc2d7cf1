/** `portolan console`: forwards a port of this machine to the console of a cluster, in the pod of the operator. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { Command } from 'commander'
import { CONSOLE_PORT } from '../core/console/cluster.ts'
import { messageOf } from '../core/errors.ts'
import { plainLine } from '../core/hidden-characters.ts'
import { onShutdown } from '../core/lifecycle.ts'
import { CommandError } from './command-error.ts'
import { createOperatorPods, type OperatorPods } from './operator-pods.ts'
import { contextOption, wholeNumber } from './options.ts'
import type { Terminal } from './output.ts'

type ConsoleOptions = { namespace: string; context?: string; port: number }

const HOST = '127.0.0.1'
const PROBE_MS = 15_000

export function consoleCommand(terminal: Terminal): Command {
  return new Command('console')
    .description('show the console of a cluster: a web page with its gateways, servers and calls')
    .option('-n, --namespace <name>', 'the namespace of the operator', 'portolan-system')
    .addOption(contextOption())
    .option(
      '--port <port>',
      'the port of this machine to listen on; 0 chooses a free one',
      wholeNumber(0, 65_535),
      CONSOLE_PORT,
    )
    .addHelpText(
      'after',
      '\nIt listens on 127.0.0.1 until it is interrupted, and needs the right to pods/portforward in the namespace of the operator.\nOn a laptop, the console is at the address that "portolan up" prints.',
    )
    .action(async (options: ConsoleOptions) => {
      const pods = await createOperatorPods(options)
      const { port, close } = await listen(options.port, pods, terminal).catch(async error => {
        await pods.close()
        throw error
      })
      const url = `http://${HOST}:${port}/`
      onShutdown(async () => {
        close()
        await pods.close()
      })
      terminal.out(`${terminal.colors.bold('Console')}  ${terminal.colors.cyan(url)}`)
      await new Promise(() => {}) // until a signal ends the process
    })
}

/** Listens, and asks the console for its page once. Throws a CommandError if the port is taken, or the console does not answer. */
async function listen(
  port: number,
  pods: OperatorPods,
  terminal: Terminal,
): Promise<{ port: number; close(): void }> {
  const sockets = new Set<Socket>()
  let joinError: string | undefined
  const server = createServer({ allowHalfOpen: false }, socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => {}) // the browser has gone
    pods.join(socket).catch(error => {
      joinError = messageOf(error)
      socket.destroy()
      terminal.err(terminal.errColors.dim(plainLine(joinError)))
    })
  })
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  await open(server, port)
  const { port: chosen } = server.address() as AddressInfo
  try {
    await probe(`http://${HOST}:${chosen}/`)
  } catch (error) {
    close()
    throw new CommandError(
      joinError ??
        pods.refused() ??
        `the console of the operator does not answer (${messageOf(error)}); the log of its pod may say why (kubectl logs)`,
    )
  }
  return { port: chosen, close }
}

async function open(server: Server, port: number): Promise<void> {
  try {
    server.listen(port, HOST)
    await once(server, 'listening')
  } catch (error) {
    const message =
      (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
        ? `port ${port} is already in use; choose another with --port`
        : `cannot listen on port ${port}: ${messageOf(error)}`
    throw new CommandError(message)
  }
}

async function probe(url: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_MS) })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`HTTP ${response.status}`)
}
