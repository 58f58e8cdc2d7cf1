/** A stdio server of SDK 2.x that has questions for its client in some calls. With the argument `reject` it serves only 2026-07-28. */
import { inputRequired, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
import type { JsonObject } from '../../../core/json.ts'
import { type Kind, NOTE_URI, QUESTIONS } from './questions.ts'

const say = (value: unknown) => ({
  content: [{ type: 'text' as const, text: typeof value === 'string' ? value : JSON.stringify(value) }],
})

function create() {
  const capabilities = { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} }
  const server = new McpServer({ name: 'asking', version: '2.0.0' }, { capabilities })
  server.registerResource('one', NOTE_URI, {}, uri => ({ contents: [{ uri: uri.href, text: 'one' }] }))
  const inputSchema = z.object({ kinds: z.string().default('') })
  server.registerTool('ask', { inputSchema }, ({ kinds }, { mcpReq }) => {
    const asked = kinds.split(' ') as Kind[]
    if (mcpReq.inputResponses) return say(mcpReq.inputResponses)
    const inputRequests = Object.fromEntries(asked.map(kind => [kind, { ...QUESTIONS[kind] }])) as never
    return inputRequired({ inputRequests, requestState: `asked for ${kinds}` })
  })
  server.registerTool('declared', {}, ({ mcpReq }) =>
    say((mcpReq.envelope as JsonObject | undefined)?.['io.modelcontextprotocol/clientCapabilities'] ?? {}),
  )
  server.registerTool('log', {}, async ({ mcpReq }) => {
    await mcpReq.log('debug', 'small')
    await mcpReq.log('error', 'large')
    return say('logged')
  })
  server.registerTool('progress', {}, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    if (progressToken !== undefined)
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
    return say('done')
  })
  server.registerTool('touch', {}, async () => {
    await server.server.sendResourceUpdated({ uri: NOTE_URI })
    return say('touched')
  })
  server.registerTool('grow', {}, async () => {
    server.sendToolListChanged()
    return say('grown')
  })
  server.registerTool('hang', {}, ({ mcpReq }) => {
    mcpReq.signal.addEventListener('abort', () => process.stderr.write('error: cancelled\n'))
    return new Promise<never>(() => {})
  })
  server.registerTool('die', {}, () => process.exit(7))
  server.registerTool('pid', {}, () => say(process.pid))
  return server
}

serveStdio(create, { legacy: process.argv[2] === 'reject' ? 'reject' : 'serve' })
