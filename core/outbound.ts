/** Opens the connections to hosts that manifests name: directly or through an HTTP proxy, and only to addresses that are allowed. */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIPv6 } from 'node:net'
import type { Duplex } from 'node:stream'
import { buildConnector } from 'undici'
import { Fault } from './errors.ts'
import type { HostGuard } from './host-guard.ts'
import type { HttpProxy } from './proxies.ts'

export type OutboundOptions = {
  /** For each of the steps: the connection, the answer of the proxy, TLS. */
  timeoutMs: number
  /** Absent: all addresses are allowed, and no proxy is used. */
  guard?: HostGuard
  /** Certificates to trust instead of the usual ones. */
  ca?: string
}

type Target = buildConnector.Options
const OK = 200
const PROXY_AUTHENTICATION_REQUIRED = 407

/** Creates the option `connect` of undici's pools and agents. */
export function createOutbound({ timeoutMs, guard, ca }: OutboundOptions): buildConnector.connector {
  const tls = { timeout: timeoutMs, ...(ca !== undefined && { ca }) }
  const direct = buildConnector({ ...tls, ...(guard?.lookup && { lookup: guard.lookup }) })
  const proxyFor = guard?.proxyFor
  if (!proxyFor) return direct
  const through = buildConnector(tls)
  return (target, callback) => {
    const proxy = proxyFor(target)
    if (!proxy) return direct(target, callback)
    openTunnel(proxy, target, guard, timeoutMs).then(
      socket => {
        // TLS is between this process and the host: the proxy sees only where the tunnel leads.
        const httpSocket = socket as NonNullable<Target['httpSocket']>
        if (target.protocol === 'https:') through({ ...target, httpSocket }, callback)
        else callback(null, httpSocket)
      },
      (error: Error) => callback(error, null),
    )
  }
}

/** Opens a tunnel to the target with CONNECT. Throws Fault `upstream_unreachable`, whose message names neither the host nor the proxy. */
async function openTunnel(
  proxy: HttpProxy,
  target: Target,
  guard: HostGuard | undefined,
  timeoutMs: number,
): Promise<Duplex> {
  await admit(target.hostname, guard)
  const { hostname, protocol } = target
  const host = isIPv6(hostname) ? `[${hostname}]` : hostname
  const to = `${host}:${target.port || (protocol === 'https:' ? 443 : 80)}`
  const limit = AbortSignal.timeout(timeoutMs)
  const request = connectRequest(proxy, to, limit)
  const { status, socket } = await answerTo(request).catch(cause => {
    const code = 'code' in cause && !limit.aborted ? String(cause.code) : 'timeout'
    throw unreachable(`The HTTP proxy cannot be reached (${code})`, { code }, cause)
  })
  if (status === OK) return socket
  socket.destroy()
  if (status === PROXY_AUTHENTICATION_REQUIRED)
    throw unreachable('The HTTP proxy refuses to connect without valid credentials (407)', { status })
  throw unreachable(`The HTTP proxy opened no connection to the upstream (${status})`, { status })
}

/**
 * Rejects with the Fault of the guard if the host has an address that is not allowed. The proxy resolves the name again by itself. A name
 * that only the proxy can resolve is admitted, since the proxy decides about it.
 */
function admit(hostname: string, guard: HostGuard | undefined): Promise<void> {
  const lookup = guard?.lookup
  if (!lookup) return Promise.resolve()
  return new Promise((resolve, reject) =>
    lookup(hostname, { all: true }, error => (error instanceof Fault ? reject(error) : resolve())),
  )
}

function connectRequest(
  { origin, authorization }: HttpProxy,
  to: string,
  signal: AbortSignal,
): ClientRequest {
  const { protocol, hostname, port } = new URL(origin)
  const secure = protocol === 'https:'
  return (secure ? httpsRequest : httpRequest)({
    method: 'CONNECT',
    host: hostname.replaceAll(/[[\]]/g, ''),
    port: port || (secure ? 443 : 80),
    path: to,
    headers: { host: to, ...(authorization !== undefined && { 'proxy-authorization': authorization }) },
    agent: false,
    signal,
  })
}

function answerTo(request: ClientRequest): Promise<{ status: number; socket: Duplex }> {
  return new Promise((resolve, reject) => {
    request.once('error', reject)
    request.once('connect', ({ statusCode = 0 }: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (head.length > 0) socket.unshift(head)
      resolve({ status: statusCode, socket })
    })
    request.end()
  })
}

function unreachable(message: string, details: Fault['details'], cause?: unknown): Fault {
  return new Fault('upstream_unreachable', message, { cause, retryable: true, details })
}
