/** A stdio server of the 2025 era whose tool `mirror` returns the metadata of the call. No dependencies. */
import { createInterface } from 'node:readline'

const tools = [{ name: 'mirror', description: 'Gives back what came', inputSchema: { type: 'object' } }]
const prompts = [{ name: 'greet', description: 'Greets' }]
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, prompts: {} },
    serverInfo: { name: 'mirror', version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'prompts/list': () => ({ prompts }),
  'prompts/get': () => ({ messages: [] }),
  'tools/call': ({ _meta, arguments: args }) => ({
    content: [{ type: 'text', text: JSON.stringify({ _meta }) }],
    ...(args?.fail && { isError: true }),
  }),
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined || params?.arguments?.hang) continue
  const result = answers[method]?.(params ?? {})
  const error = { code: -32601, message: 'no such method' }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) })}\n`)
}
