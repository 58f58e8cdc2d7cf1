/** A server of SDK 2.x over HTTP that sends questions, log messages and change notifications, as servers of 2026-07-28 do. */
import type { ServerResponse } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { JsonObject } from '../../../core/json.ts'
import { type Kind, QUESTIONS } from '../asking/questions.ts'
import { createRequestLog, type RequestLog } from './log.ts'
import { readJson, type Served, serve } from './serve.ts'

export type AskingModern = Served & {
  url: string
  log: RequestLog
  /** The headers and the body of each POST. */
  requests: { headers: Record<string, unknown>; body: JsonObject }[]
  touch(uri: string): void
  grow(): void
  /** Closes the streams of subscriptions/listen. */
  breakStreams(): void
}

/** `dual` also serves clients of the 2025 era, without sessions. */
export async function startAskingModern(kind: 'modern' | 'dual', port?: number): Promise<AskingModern> {
  const log = createRequestLog()
  const requests: AskingModern['requests'] = []
  const streams = new Set<ServerResponse>()
  const handler = createMcpHandler(create, { legacy: kind === 'dual' ? 'stateless' : 'reject' })
  const node = toNodeHandler(handler)
  const served = await serve(async (request, response) => {
    const body = request.method === 'POST' ? await readJson(request) : undefined
    const { method = '' } = (body ?? {}) as { method?: string }
    if (body) requests.push({ headers: request.headers, body: body as JsonObject })
    log.add(`${request.method} ${method}`.trim())
    if (method === 'subscriptions/listen') streams.add(response)
    response.on('close', () => {
      streams.delete(response)
      log.add(`closed ${method}`)
    })
    await node(request, response, body)
  }, port)
  return {
    ...served,
    url: `${served.origin}/mcp`,
    log,
    requests,
    touch: uri => handler.notify.resourceUpdated(uri),
    grow: () => handler.notify.toolsChanged(),
    breakStreams: () => {
      for (const response of streams) response.destroy()
    },
  }
}

/** Tools: `ask` (kinds), `declared`, `log`, `progress`, `hang`, `echo` (returns its arguments). */
function create(): McpServer {
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    logging: {},
  }
  const server = new McpServer({ name: 'asking', version: '2.0.0' }, { capabilities })
  server.registerResource('one', 'note://one', {}, uri => ({ contents: [{ uri: uri.href, text: 'one' }] }))
  server.registerTool('ask', { inputSchema: z.object({ kinds: z.string() }) }, ({ kinds }, { mcpReq }) => {
    if (mcpReq.inputResponses) return say(mcpReq.inputResponses)
    const asked = (kinds.split(' ') as Kind[]).map(kind => [kind, { ...QUESTIONS[kind] }])
    return inputRequired({ inputRequests: Object.fromEntries(asked) as never, requestState: 'state' })
  })
  server.registerTool('declared', {}, ({ mcpReq }) =>
    say((mcpReq.envelope as JsonObject | undefined)?.['io.modelcontextprotocol/clientCapabilities'] ?? {}),
  )
  server.registerTool('log', {}, async ({ mcpReq }) => {
    for (const level of ['debug', 'error'] as const) await mcpReq.log(level, level)
    return say('logged')
  })
  server.registerTool('progress', {}, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? 'none'
    await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
    return say(progressToken)
  })
  server.registerTool('hang', {}, () => new Promise<never>(() => {}))
  server.registerTool('echo', { inputSchema: z.looseObject({}) }, args => say(args))
  return server
}

function say(value: unknown) {
  return { content: [{ type: 'text' as const, text: JSON.stringify(value) }] }
}
