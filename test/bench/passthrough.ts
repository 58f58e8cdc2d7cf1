/** The reference: a minimal proxy that parses a request and forwards it, with fastify and undici's dispatch. */
import fastify from 'fastify'
import { type Dispatcher, Pool } from 'undici'

const upstream = new URL(process.argv[2] ?? '')
const pool = new Pool(upstream.origin, { connections: 128, pipelining: 1 })
const app = fastify({ logger: false })

app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) =>
  done(null, body),
)
app.post('/mcp', (request, reply) => {
  const body = request.body as string
  JSON.parse(body)
  pool.dispatch(
    {
      path: upstream.pathname,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
      },
      body,
    },
    collect((status, type, answer) => {
      reply.code(status).header('content-type', type).send(answer)
    }),
  )
  return reply
})

function collect(done: (status: number, type: string, body: Buffer) => void): Dispatcher.DispatchHandler {
  const chunks: Buffer[] = []
  let status = 0
  let type = 'application/json'
  return {
    onRequestStart() {},
    onResponseStart(_controller, statusCode, headers) {
      status = statusCode
      type = String(headers['content-type'] ?? type)
    },
    onResponseData(_controller, chunk) {
      chunks.push(chunk as Buffer)
    },
    onResponseEnd() {
      done(status, type, chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))
    },
    onResponseError(_controller, error) {
      done(502, 'text/plain', Buffer.from(error.message))
    },
  }
}

await app.listen({ host: '127.0.0.1', port: 0 })
const address = app.server.address()
process.stdout.write(`${JSON.stringify({ port: typeof address === 'object' ? address?.port : 0 })}\n`)
// The parent process holds the other end of stdin, so this process ends when the parent does.
process.stdin.resume().on('end', () => process.exit())
