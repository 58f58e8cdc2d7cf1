/** Checks whether a port accepts connections. That of a Service does as soon as one pod is ready. */
import { connect } from 'node:net'
import type { Clock } from '../../core/async.ts'

/** Some networks drop connections to a Service without pods instead of refusing them. */
const CONNECT_LIMIT_MS = 1_000
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** Whether the host and port of a URL accept a connection within a second. Sends nothing. Never rejects. */
export function accepts(address: string, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const { hostname, port, protocol } = new URL(address)
  const host = hostname.replace(/^\[|\]$/g, '')
  return new Promise(resolve => {
    const socket = connect({ host, port: port === '' ? (DEFAULT_PORTS[protocol] ?? 80) : Number(port) })
    const limit = clock.after(CONNECT_LIMIT_MS, () => end(false))
    const onAbort = () => end(false)
    const end = (accepted: boolean) => {
      limit.cancel()
      signal.removeEventListener('abort', onAbort)
      socket.destroy()
      resolve(accepted)
    }
    socket.once('connect', () => end(true))
    socket.on('error', () => end(false))
    if (signal.aborted) end(false)
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}
