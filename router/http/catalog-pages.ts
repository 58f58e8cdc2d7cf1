/** The pages from which sidecars read: the catalog's index, answered as soon as it changes (long polling), and each server's catalog. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply } from 'fastify'
import type { Clock } from '../../core/async.ts'
import { catalogVersion } from '../../core/catalog/version.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import { JSON_TYPE } from '../../core/mcp/server/post-response.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { CATALOG_PATH, catalogIndexOf } from '../source/catalog-index.ts'
import type { Newest } from '../source/newest.ts'
import { type App, type OnRequest, respond } from './app.ts'

export type CatalogPagesOptions = {
  served: Newest<Catalog>
  onRequest: OnRequest
  clock: Clock
}

type Page = { etag: string; body: Buffer }

/** `Prefer: wait=25` (RFC 7240): how many seconds the caller waits for a change. */
const WAIT = /\bwait=(\d{1,3})\b/
const MAX_WAIT_SECONDS = 60
const compress = promisify(gzip)

export function addCatalogPages(app: App, { served, onRequest, clock }: CatalogPagesOptions): void {
  const page = makeOnce((catalog: Catalog) => pageOf(catalogIndexOf(catalog)))
  const content = makeOnce(pageOf)

  /** The first page with another etag; undefined if there was none in time. */
  async function newer(
    etag: string | undefined,
    waitMs: number,
    gone: AbortSignal,
  ): Promise<Page | undefined> {
    const late = new AbortController()
    const timer = clock.after(waitMs, () => late.abort())
    try {
      for await (const catalog of served.watch(AbortSignal.any([late.signal, gone, app.draining]))) {
        const found = await page(catalog)
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
    const found = await newer(etag, waitMsOf(request.headers.prefer), gone.signal)
    if (app.draining.aborted) reply.raw.shouldKeepAlive = false
    if (found) return send(reply, found)
    if (served.current()) return reply.code(304).header('etag', etag).send()
    reply.header('retry-after', '1')
    respond(reply, 503, TRANSPORT_ERROR, 'The gateway has no catalog yet; try again in a second.')
    return reply
  })

  type Params = { version: string }
  app.fastify.get<{ Params: Params }>(
    `${CATALOG_PATH}/servers/:version`,
    { onRequest },
    async (request, reply) => {
      const catalogs = served.current()?.catalogs.values() ?? []
      const catalog = [...catalogs].find(one => catalogVersion(one) === request.params.version)
      if (catalog) return send(reply, await content(catalog))
      respond(
        reply,
        404,
        TRANSPORT_ERROR,
        'No server has a catalog of this version any more; read /catalog again.',
      )
      return reply
    },
  )
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

/** Caches pages, since many sidecars ask for the same one; an entry is garbage-collected with the object that it was made from. */
function makeOnce<Key extends object, Made>(make: (key: Key) => Promise<Made>): (key: Key) => Promise<Made> {
  const made = new WeakMap<Key, Promise<Made>>()
  return key => {
    const found = made.get(key) ?? make(key)
    made.set(key, found)
    return found
  }
}
