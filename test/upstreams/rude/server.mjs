/**
 * A stdio MCP server that misbehaves on purpose: `node server.mjs MODE [NUMBER]`. The default mode, `polite`, is a correct server.
 * It has no dependencies, so that it starts fast and only the mode is unusual. The modes are in `modes.mjs`, `opening-modes.mjs`, `listening-modes.mjs` and `canary-mode.mjs`.
 */
import { canaryMode } from './canary-mode.mjs'
import { listeningModes } from './listening-modes.mjs'
import { modes } from './modes.mjs'
import { openingModes } from './opening-modes.mjs'
import { tools, unlisted } from './tools.mjs'

const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

function createServer(mode) {
  const server = {
    tools: [...tools.values()].map(tool => tool.definition),
    /** Notifications and responses from the client, for the tool `seen`. */
    seen: [],
    /** Methods of the received handshake requests, for the tool `openings`. */
    openings: [],
    /** The last received line, unchanged, for the tool `line`. */
    line: '',
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
      const run = tools.get(params.name)?.run ?? unlisted.get(params.name)
      if (!run) return server.fail(id, -32602, `unknown tool: ${params.name}`)
      return run(server, id, params.arguments ?? {}, params)
    },
    other: id => server.fail(id, -32601, 'no such method'),
    discover: (id, params) => server.other(id, params, 'server/discover'),
    receive,
  }
  mode.change?.(server)
  return server

  function receive(message) {
    if (message.method === undefined || message.id === undefined) return server.seen.push(message)
    const params = message.params ?? {}
    if (message.method === 'initialize' || message.method === 'server/discover')
      server.openings.push(message.method)
    if (message.method === 'initialize') return server.initialize(message.id, params)
    if (message.method === 'server/discover') return server.discover(message.id, params)
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
    for (const line of lines) {
      if (!line.trim()) continue
      server.line = line
      server.receive(JSON.parse(line))
    }
  })
}

const name = process.argv[2] ?? 'polite'
const all = { ...modes, ...openingModes, ...listeningModes, ...canaryMode }
const change = all[name]
if (change === undefined) {
  process.stderr.write(`no mode ${name}; there are: ${Object.keys(all).join(' ')}\n`)
  process.exit(64)
}
listen(createServer({ name, change }))
