/** Forwards requests of the page: for data to a router's admin port, for MCP to the gateway's Service, like any client. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { type Dispatcher, request } from 'undici'
import { readBounded } from '../../core/bounded.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import { gatewayObjectName } from '../plan/names.ts'
import type { ClusterView, GatewayPlace } from './cluster-view.ts'
import type { RouterClient } from './router-client.ts'

export type ForwardOptions = {
  view: ClusterView
  client: RouterClient
  gateway: GatewayPlace
  /** Headers that every answer gets. */
  headers: Readonly<Record<string, string>>
}

const MAX_BODY_BYTES = 4 << 20
/** How long to wait for the beginning and for each further part of an answer, since a call may take minutes. */
const CALL_TIMEOUT_MS = 10 * 60_000
const REQUEST_HEADERS = ['authorization', 'content-type', 'accept', 'last-event-id']
const RESPONSE_HEADERS = ['content-type', 'www-authenticate', 'retry-after']

/** Forwards a request for `/console/<what>` to the router that `query.router` names, or to any. Throws a Fault. */
export async function forwardData(
  incoming: IncomingMessage,
  response: ServerResponse,
  what: string,
  query: URLSearchParams,
  { view, client, gateway, headers }: ForwardOptions,
): Promise<void> {
  const all = view.routers(gateway)
  const wanted = query.get('router')
  const router = wanted === null ? all[0] : all.find(({ pod }) => pod === wanted)
  if (!router)
    throw new Fault(
      'unavailable',
      wanted === null ? 'No router of this gateway is ready.' : 'This router no longer runs.',
    )
  query.delete('router')
  const body = incoming.method === 'POST' ? await readBody(incoming) : undefined
  const path = query.size > 0 ? `${what}?${query}` : what
  const method = body === undefined ? 'GET' : 'POST'
  const { authorization } = incoming.headers
  const answer = await client.ask(router.address, path, {
    authorization,
    signal: abortOnClose(response),
    method,
    body,
  })
  if (what === 'manifest' && answer.statusCode === 200) {
    // The router decides whether the caller may read the manifest, but only the operator has it.
    await answer.body.dump()
    const yaml = view.manifest(gateway.namespace, query.get('server') ?? '')
    response.writeHead(200, { ...headers, 'content-type': 'application/json' })
    response.end(JSON.stringify({ yaml }))
    return
  }
  await passBack(answer, response, headers)
}

/** Forwards a request to /mcp or /mcp/<profile>. Throws a Fault. */
export async function forwardMcp(
  incoming: IncomingMessage,
  response: ServerResponse,
  profile: string | undefined,
  { gateway: { namespace, name }, headers }: ForwardOptions,
): Promise<void> {
  const path = profile === undefined ? 'mcp' : `mcp/${encodeURIComponent(profile)}`
  const url = `http://${gatewayObjectName(name)}.${namespace}.svc/${path}`
  const passedOn = Object.entries(incoming.headers).filter(
    ([name]) => REQUEST_HEADERS.includes(name) || name.startsWith('mcp-'),
  )
  const body = await readBody(incoming)
  const answer = await request(url, {
    method: 'POST',
    headers: Object.fromEntries(passedOn),
    body,
    signal: abortOnClose(response),
    headersTimeout: CALL_TIMEOUT_MS,
    bodyTimeout: CALL_TIMEOUT_MS,
  }).catch(cause => {
    throw new Fault('unavailable', `The gateway does not answer at ${url}: ${messageOf(cause)}`, { cause })
  })
  await passBack(answer, response, headers)
}

function readBody(incoming: IncomingMessage): Promise<string> {
  const tooLarge = () => new Fault('bad_request', `A request may have at most ${MAX_BODY_BYTES} bytes.`)
  return readBounded(incoming, MAX_BODY_BYTES, tooLarge).then(body => body.toString('utf8'))
}

/** Sends an answer to the page, with only those of its headers that the page needs. */
async function passBack(
  { statusCode, headers: received, body }: Dispatcher.ResponseData,
  response: ServerResponse,
  headers: ForwardOptions['headers'],
): Promise<void> {
  const kept = RESPONSE_HEADERS.flatMap(name =>
    received[name] === undefined ? [] : [[name, received[name]] as const],
  )
  response.writeHead(statusCode, { ...headers, ...Object.fromEntries(kept), 'cache-control': 'no-store' })
  await pipeline(body, response)
}

/** A signal that aborts when the page no longer waits. */
function abortOnClose(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  return gone.signal
}
