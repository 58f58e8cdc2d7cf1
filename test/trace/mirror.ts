/** An HTTP server of the 2025 era whose tool `mirror` returns the metadata and headers of the call. */
import { isObject } from '../../core/json.ts'
import { readJson, type Served, serve } from '../upstreams/http/serve.ts'

export type Mirrored = { _meta?: Record<string, string>; headers: Record<string, string | undefined> }

export function startMirror(): Promise<Served> {
  return serve(async (request, response) => {
    const message = await readJson(request)
    if (request.method !== 'POST' || !isObject(message)) return void response.writeHead(405).end()
    if (message.id === undefined) return void response.writeHead(202).end()
    const params = isObject(message.params) ? message.params : {}
    const { traceparent, tracestate, baggage } = request.headers
    const text = JSON.stringify({ _meta: params._meta, headers: { traceparent, tracestate, baggage } })
    const answers: Record<string, object> = {
      initialize: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'mirror', version: '1' },
      },
      'tools/list': {
        tools: [{ name: 'mirror', description: 'Gives back what came', inputSchema: { type: 'object' } }],
      },
      'tools/call': { content: [{ type: 'text', text }] },
    }
    const result = answers[String(message.method)]
    const answer = result ? { result } : { error: { code: -32601, message: 'no such method' } }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer }))
  })
}
