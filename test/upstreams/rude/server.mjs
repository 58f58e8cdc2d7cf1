/**
 * A stdio MCP server that misbehaves on purpose: `node server.mjs MODE [NUMBER]`. Without a mode it is polite.
 * No dependencies, so that it starts fast and nothing but the mode is strange. `modes.mjs` says what each mode does.
 */
import { modes } from './modes.mjs'
import { tools } from './tools.mjs'

const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

function createServer(mode) {
  const server = {
    tools: [...tools.values()].map(tool => tool.definition),
    /** Notifications and answers that the client sent, for the tool `seen`. */
    seen: [],
    capabilities: { tools: { listChanged: true } },
    writeLine: line => process.stdout.write(`${line}\n`),
    send: message => server.writeLine(JSON.stringify({ jsonrpc: '2.0', ...message })),
    answer: (id, result) => server.send({ id, result }),
    fail: (id, code, message) => server.send({ id, error: { code, message } }),
    initialize: (id, params) =>
      server.answer(id, {
        protocolVersion: VERSIONS.includes(params.protocolVersion) ? params.protocolVersion : VERSIONS[0],
        capabilities: server.capabilities,
        serverInfo: { name: 'rude', version: '1.0.0' },
        instructions: `mode: ${mode.name}`,
      }),
    list: id => server.answer(id, { tools: server.tools }),
    call: (id, params) => {
      const tool = tools.get(params.name)
      if (!tool) return server.fail(id, -32602, `unknown tool: ${params.name}`)
      return tool.run(server, id, params.arguments ?? {}, params)
    },
    other: id => server.fail(id, -32601, 'no such method'),
    receive,
  }
  mode.change?.(server)
  return server

  function receive(message) {
    if (message.method === undefined || message.id === undefined) return server.seen.push(message)
    const params = message.params ?? {}
    if (message.method === 'initialize') return server.initialize(message.id, params)
    if (message.method === 'tools/list') return server.list(message.id, params)
    if (message.method === 'tools/call') return server.call(message.id, params)
    if (message.method === 'ping') return server.answer(message.id, {})
    return server.other(message.id, params, message.method)
  }
}

function listen(server) {
  let rest = ''
  process.stdin.setEncoding('utf8')
  process.stdin.on('data', text => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()
    for (const line of lines) if (line.trim()) server.receive(JSON.parse(line))
  })
}

const name = process.argv[2] ?? 'polite'
const change = modes[name]
if (change === undefined) {
  process.stderr.write(`no mode ${name}; there are: ${Object.keys(modes).join(' ')}\n`)
  process.exit(64)
}
listen(createServer({ name, change }))
