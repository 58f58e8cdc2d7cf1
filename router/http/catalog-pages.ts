/** The pages from which sidecars read: the catalog's index, answered as soon as it changes (long polling), and each server's catalog. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../core/async.ts'
import { catalogVersion } from '../../core/catalog/version.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import { JSON_TYPE } from '../../core/mcp/server/post-response.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { CATALOG_PATH, type CallsForSidecars, catalogIndexOf } from '../source/catalog-index.ts'
import type { Newest } from '../source/newest.ts'
import { podCatalog } from '../source/pod-catalog.ts'
import type { Snapshot } from '../source/source.ts'
import { type App, type OnRequest, respond } from './app.ts'
import type { Authenticator } from './service-account.ts'

export type CatalogPagesOptions = {
  served: Newest<Catalog>
  onRequest: OnRequest
  authenticate: Authenticator
  seenBy: (catalog: Catalog, identity: Identity) => Catalog
  clock: Clock
  callsForSidecars?: CallsForSidecars
}

type Page = { etag: string; body: Buffer }

/** `Prefer: wait=25` (RFC 7240): how many seconds the caller waits for a change. */
const WAIT = /\bwait=(\d{1,3})\b/
const MAX_WAIT_SECONDS = 60
const compress = promisify(gzip)

/** Each pod reads what its ServiceAccount may use: pods with the same rules read the same pages. */
export function addCatalogPages(app: App, options: CatalogPagesOptions): void {
  const snapshot = cached(podCatalog)
  const { authenticate, seenBy } = options
  const seen: Seen = async (request, catalog) => {
    const found = await authenticate(request.headers.authorization)
    // The guard admitted this credential; since then it expired or lost its rights.
    if (!('id' in found)) throw Object.assign(new Error(found.message), { statusCode: found.status })
    return snapshot(seenBy(catalog, found))
  }
  addIndexPage(app, options, seen)
  addListPage(app, options, seen)
}

/** The part of a catalog that the sender of a request may see. Rejects if the sender is no longer admitted. */
type Seen = (request: FastifyRequest, catalog: Catalog) => Promise<Snapshot>

function addIndexPage(app: App, options: CatalogPagesOptions, seen: Seen): void {
  const { served, onRequest, clock, callsForSidecars } = options
  const page = cached((of: Snapshot) => pageOf(catalogIndexOf(of, callsForSidecars)))

  /** The first page whose etag differs from `etag`; undefined if there was none in time. `gone`: aborts when the caller goes away. */
  async function newer(
    request: FastifyRequest,
    etag: string | undefined,
    gone: AbortSignal,
  ): Promise<Page | undefined> {
    const late = new AbortController()
    const timer = clock.after(waitMsOf(request.headers.prefer), () => late.abort())
    try {
      for await (const catalog of served.watch(AbortSignal.any([late.signal, gone, app.draining]))) {
        const found = await page(await seen(request, catalog))
        if (found.etag !== etag) return found
      }
      return undefined
    } finally {
      timer.cancel()
    }
  }

  app.fastify.get(CATALOG_PATH, { onRequest }, async (request, reply) => {
    const etag = request.headers['if-none-match'] || undefined
    const gone = new AbortController()
    reply.raw.on('close', () => gone.abort())
    const found = await newer(request, etag, gone.signal)
    if (app.draining.aborted) reply.raw.shouldKeepAlive = false
    if (found) return send(reply, found)
    const isKnown = served.current() !== undefined
    if (isKnown && etag !== undefined) return reply.code(304).header('etag', etag).send()
    reply.header('retry-after', '1')
    const why = isKnown ? 'This router ends' : 'The gateway has no catalog yet'
    respond(reply, 503, TRANSPORT_ERROR, `${why}; try again in a second.`)
    return reply
  })
}

function addListPage(app: App, { served, onRequest }: CatalogPagesOptions, seen: Seen): void {
  const content = cached(pageOf)
  type Params = { version: string }
  const url = `${CATALOG_PATH}/servers/:version`
  app.fastify.get<{ Params: Params }>(url, { onRequest }, async (request, reply) => {
    const whole = served.current()
    const lists = whole ? [...(await seen(request, whole)).catalogs.values()] : []
    const list = lists.find(one => catalogVersion(one) === request.params.version)
    if (list) return send(reply, await content(list))
    const message = 'This version of the catalog no longer exists at any server; read /catalog again.'
    respond(reply, 404, TRANSPORT_ERROR, message)
    return reply
  })
}

function waitMsOf(prefer: string | string[] | undefined): number {
  const seconds = Number(WAIT.exec(String(prefer ?? ''))?.[1] ?? 0)
  return Math.min(seconds, MAX_WAIT_SECONDS) * 1_000
}

function send(reply: FastifyReply, { etag, body }: Page): FastifyReply {
  return reply.type(JSON_TYPE).header('etag', etag).header('content-encoding', 'gzip').send(body)
}

async function pageOf(value: object): Promise<Page> {
  const text = JSON.stringify(value)
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`
  return { etag, body: await compress(text) }
}

/** A function that caches what `make` returns for each key, since many pods ask for the same; an entry is garbage-collected with the object that it was made from. */
function cached<Key extends object, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new WeakMap<Key, { value: Made }>()
  return key => {
    const found = made.get(key) ?? { value: make(key) }
    made.set(key, found)
    return found.value
  }
}
