/** The MCP server of the SDK 1.x fixtures: tools that return what they received, a resource and a prompt. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'

/** Tools: echo, count (of this session's calls), header, progress, hang (until cancelled), ask (pings the client). */
export function createSdk1McpServer(): McpServer {
  const server = new McpServer(
    { name: 'sdk1', version: '1.0.0' },
    { instructions: 'A server of SDK 1.x', capabilities: { tools: { listChanged: true }, logging: {} } },
  )
  let calls = 0
  server.registerTool('echo', { description: 'Echoes', inputSchema: { text: z.string() } }, args =>
    text(args.text),
  )
  server.registerTool('count', { description: 'Counts its calls' }, () => text(++calls))
  server.registerTool('header', { inputSchema: { name: z.string() } }, (args, extra) =>
    text(extra.requestInfo?.headers[args.name]),
  )
  server.registerTool('progress', { description: 'Reports progress twice' }, async extra => {
    const progressToken = extra._meta?.progressToken ?? 'none'
    for (const progress of [1, 2])
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 2 },
      })
    return text(progressToken)
  })
  server.registerTool('hang', { description: 'Answers when it is cancelled' }, extra => {
    const { promise, resolve } = Promise.withResolvers<ReturnType<typeof text>>()
    extra.signal.addEventListener('abort', () => resolve(text('cancelled')))
    return promise
  })
  server.registerTool('ask', { description: 'Pings the client' }, async extra =>
    text(JSON.stringify(await extra.sendRequest({ method: 'ping' }, z.object({}).loose()))),
  )
  server.registerResource('note', 'text://note', { mimeType: 'text/plain' }, uri => ({
    contents: [{ uri: uri.href, text: 'a note' }],
  }))
  server.registerPrompt('greet', { description: 'Greets' }, () => ({
    messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }],
  }))
  return server
}

function text(value: unknown) {
  return { content: [{ type: 'text' as const, text: String(value) }], _meta: { kept: true } }
}
