/** The console of a laptop: its page at /, with the data and actions of the page, for callers on this machine only. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { CONSOLE_HEADERS, foreignPage, isOnThisMachine, noActionOf } from '../../core/console/guarded.ts'
import { type ConsolePage, fileOf } from '../../core/console/page.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import { type App, type OnRequest, respond } from '../http/app.ts'
import { addConsoleData, type ConsoleRoutes } from './routes.ts'

export type LaptopConsole = ConsoleRoutes & { page: ConsolePage }

const HERE_ONLY = 'The console is served to callers on this machine only.'

/** `onRequest` refuses foreign Hosts and Origins. */
export function addLaptopConsole(app: App, { page, ...routes }: LaptopConsole, onRequest: OnRequest): void {
  const guard =
    (refusal: (request: FastifyRequest['raw']) => string | undefined): OnRequest =>
    (request, reply, done) =>
      onRequest(request, reply, () => {
        for (const [name, value] of Object.entries(CONSOLE_HEADERS)) reply.header(name, value)
        // The guard allows pages of other ports to call /mcp; nothing here is for them.
        for (const name of reply.raw.getHeaderNames())
          if (name.startsWith('access-control-')) reply.raw.removeHeader(name)
        const problem = isOnThisMachine(request.raw) ? refusal(request.raw) : HERE_ONLY
        if (problem === undefined) done()
        else respond(reply, 403, TRANSPORT_ERROR, problem)
      })
  addFiles(
    app,
    page,
    guard(() => undefined),
  )
  addConsoleData(app, routes, { reading: guard(foreignPage), acting: guard(noActionOf) })
}

function addFiles({ fastify }: App, page: ConsolePage, onRequest: OnRequest): void {
  const send = (reply: FastifyReply, name?: string): FastifyReply => {
    const file = fileOf(page, name)
    if (!file) return reply.code(404).send({ error: 'There is no such file.' })
    return reply.header('cache-control', file.cache).type(file.type).send(file.text)
  }
  fastify.get('/', { onRequest }, (_request, reply) => send(reply))
  fastify.get<{ Params: { file: string } }>('/console/assets/:file', { onRequest }, (request, reply) =>
    send(reply, request.params.file),
  )
}
