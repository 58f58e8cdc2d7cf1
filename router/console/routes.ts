/** What the console's page asks for, below /console: data and events, as the caller may see them, and actions. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { peerAddress } from '../../core/addresses.ts'
import type { Clock } from '../../core/async.ts'
import { CONSOLE_HEADERS } from '../../core/console/guarded.ts'
import { Fault } from '../../core/errors.ts'
import { isObject, type JsonObject, tryParseJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { whenClosed } from '../../core/mcp/server/post-response.ts'
import type { Access } from '../access/access.ts'
import type { FailedLogins } from '../access/failed-logins.ts'
import { type Limited, limitedSentence, secondsOf } from '../access/limits.ts'
import type { Audit } from '../audit/audit.ts'
import { loginLimited, loginRefused } from '../audit/of-http.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { App, OnRequest } from '../http/app.ts'
import { AUDIT_BLOCKED, type Identify } from '../http/mcp-route.ts'
import type { OpenRequests } from '../http/open-requests.ts'
import { type AnswersOptions, answerPost, createAnswers } from './answers.ts'
import { streamEvents } from './event-stream.ts'
import type { Looks } from './looks.ts'

export type ConsoleRoutes = AnswersOptions & {
  current: () => Catalog | undefined
  access: Access
  identify: Identify
  openRequests: Pick<OpenRequests, 'add'>
  failedLogins: FailedLogins
  audit: Pick<Audit, 'admitted' | 'decided' | 'isBlocked'>
  looks: Looks
  clock: Clock
  log: Log
}

/** `reading` lets requests for data in, `acting` those that act. */
export type ConsoleGuards = { reading: OnRequest; acting: OnRequest }

/** Limit of pages that are open at the same time. */
const MAX_STREAMS = 16
const STATUS: Partial<Record<Fault['code'], number>> = { not_found: 404, bad_request: 400 }

export function addConsoleData(app: App, routes: ConsoleRoutes, { reading, acting }: ConsoleGuards): void {
  addData(app, routes, reading)
  addPosts(app, routes, acting)
}

function addData(app: App, routes: ConsoleRoutes, onRequest: OnRequest): void {
  const { fastify } = app
  const answers = createAnswers(routes)
  for (const [name, answer] of Object.entries(answers))
    fastify.get<{ Querystring: Record<string, unknown> }>(
      `/console/${name}`,
      { onRequest },
      async (request, reply) => {
        const admitted = await admit(routes, request, reply)
        if (!admitted) return reply
        return answered(routes, reply, () => answer({ ...admitted, query: request.query }))
      },
    )
  let open = 0
  fastify.get('/console/events', { onRequest }, async (request, reply) => {
    const admitted = await admit(routes, request, reply)
    if (!admitted) return reply
    if (open >= MAX_STREAMS)
      return reply.code(503).send({ error: `${MAX_STREAMS} pages of this console are open: close one.` })
    open++
    reply.hijack()
    const { raw } = reply
    const { identity } = admitted
    const end = () => raw.end()
    app.draining.addEventListener('abort', end)
    whenClosed(raw, () => {
      open--
      app.draining.removeEventListener('abort', end)
    })
    routes.openRequests.add(raw, identity, request.headers.authorization)
    const { current, access, feed, looks, host, clock } = routes
    const seen = () => {
      const catalog = current()
      return catalog && access(catalog, identity)
    }
    const lastEventId = String(request.headers['last-event-id'] ?? '')
    const headers = Object.entries(CONSOLE_HEADERS).flat()
    streamEvents(raw, { feed, looks, host, seen, caller: identity.id, lastEventId, headers, clock })
    return reply
  })
}

function addPosts(app: App, routes: ConsoleRoutes, onRequest: OnRequest): void {
  const receive = async (request: FastifyRequest, reply: FastifyReply, path: string) => {
    const admitted = await admit(routes, request, reply)
    if (!admitted) return
    app.bodies.read(request.raw, reply.raw, text => {
      const body = readBody(text)
      void answered(routes, reply, () => answerPost(routes.host, admitted.seen, path, body))
    })
  }
  for (const path of ['action', 'tokens'])
    app.fastify.post(`/console/${path}`, {
      onRequest: (request, reply) => onRequest(request, reply, () => void receive(request, reply, path)),
      handler: () => {},
    })
}

/** Who sent the request, and what that caller sees; undefined if it was refused and answered. As at /mcp, a refused credential counts and is recorded, and nobody is admitted while that cannot be recorded. */
async function admit(
  routes: ConsoleRoutes,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<{ seen: Catalog; identity: Identity } | undefined> {
  const { current, access, identify, failedLogins, audit } = routes
  reply.header('cache-control', 'no-store')
  const config = current()?.config
  if (!config) {
    reply.code(503).send({ error: 'The gateway has no catalog yet.' })
    return undefined
  }
  if (audit.isBlocked(config.access)) {
    reply
      .code(503)
      .header('retry-after', '1')
      .send({ error: `${AUDIT_BLOCKED}; try again in a second.` })
    return undefined
  }
  const address = peerAddress(request.raw.socket)
  const found = await identify(config.access, request.headers.authorization)
  const catalog = current()
  // Nobody is admitted by rules that were replaced meanwhile.
  if (catalog?.config.access !== config.access) return admit(routes, request, reply)
  if ('id' in found) {
    audit.admitted(config, found, address)
    return { seen: access(catalog, found), identity: found }
  }
  const limited = failedLogins.failed(found, address)
  audit.decided(config, limited ? loginLimited(limited, address) : loginRefused(found, address))
  if (limited) refuseLimited(reply, limited)
  else reply.code(found.status).send({ error: found.message })
  return undefined
}

function refuseLimited(reply: FastifyReply, limited: Limited): void {
  reply
    .code(429)
    .header('retry-after', secondsOf(limited.waitMs))
    .send({ error: limitedSentence(limited) })
}

/** Sends an answer, or the error that is thrown in its place. */
async function answered(
  { log }: ConsoleRoutes,
  reply: FastifyReply,
  answer: () => unknown,
): Promise<FastifyReply> {
  try {
    return reply.send(await answer())
  } catch (error) {
    if (error instanceof Fault) return reply.code(STATUS[error.code] ?? 409).send({ error: error.message })
    log.error({ err: error }, 'a request of the console failed unexpectedly')
    return reply.code(500).send({ error: 'Internal error' })
  }
}

/** The body as an object; an empty one if it is anything else: the answer then says what is missing. */
function readBody(text: string | undefined): JsonObject {
  const value = tryParseJson(text ?? '')
  return isObject(value) ? value : {}
}
