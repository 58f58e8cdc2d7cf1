/** A real server of SDK 2.x whose tools and instructions a test can change. */
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { serve } from './serve.ts'

/** `tools` contains descriptions by tool name. `inputSchema`: of all tools; default: a required text. */
export type Offer = {
  tools: Record<string, string>
  instructions?: string
  inputSchema?: z.ZodType<{ text: string }>
}

export type ChangingServer = { url: string; offer: Offer; close(): Promise<void> }

/** Every request is answered with the current value of `offer`. */
export async function startChanging(offer: Offer): Promise<ChangingServer> {
  const changing = { offer }
  const handler = createMcpHandler(() => {
    const { tools, instructions, inputSchema = z.object({ text: z.string() }) } = changing.offer
    const server = new McpServer({ name: 'changing', version: '1.0.0' }, { instructions })
    for (const [name, description] of Object.entries(tools))
      server.registerTool(name, { description, inputSchema }, args => ({
        content: [{ type: 'text', text: `${name}: ${args.text}` }],
      }))
    return server
  })
  const node = toNodeHandler(handler)
  const served = await serve((request, response) => node(request, response))
  return Object.assign(changing, { url: `${served.origin}/mcp`, close: served.close })
}
