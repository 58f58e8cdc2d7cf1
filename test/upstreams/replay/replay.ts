/** Serves recorded catalogs as stateless MCP servers at /<name>/mcp of one HTTP server, for tests and benchmarks. */
import fastify from 'fastify'
import { createAnswerer } from './answer.ts'
import { defaultCatalogs, type ReplayCatalog } from './catalogs.ts'

export type Replay = {
  /** The MCP endpoint of one replayed server. */
  url(server: string): string
  servers: string[]
  catalogs: ReplayCatalog[]
  close(): Promise<void>
}

export async function startReplay(
  options: { catalogs?: ReplayCatalog[]; host?: string; port?: number } = {},
): Promise<Replay> {
  const { catalogs = defaultCatalogs(), host = '127.0.0.1', port = 0 } = options
  const answerers = new Map(catalogs.map(catalog => [catalog.name, createAnswerer(catalog)]))
  if (answerers.size < catalogs.length) throw new Error('two catalogs have the same name')
  const app = fastify({ bodyLimit: 16 * 1024 * 1024, forceCloseConnections: true })
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) =>
    done(null, body),
  )
  app.post<{ Params: { server: string }; Body: string }>('/:server/mcp', (request, reply) => {
    const answerer = answerers.get(request.params.server)
    if (!answerer) return reply.code(404).send()
    const answer = answerer(JSON.parse(request.body))
    if (answer === undefined) return reply.code(202).send()
    return reply.header('content-type', 'application/json').send(answer)
  })
  app.get('/:server/mcp', (_request, reply) => reply.code(405).send())
  const origin = await app.listen({ host, port })
  return {
    url: server => `${origin}/${server}/mcp`,
    servers: catalogs.map(catalog => catalog.name),
    catalogs,
    close: () => app.close(),
  }
}
