/**
 * A stdio MCP server of the 2025 era that shows its environment and keeps notes: what two users would find of each other if they shared it.
 * Tools: `about`, `note {text}`, `crash`. A note is also a line on stderr, a change of the lists, and an update of `note://all`.
 */
import { createInterface } from 'node:readline'

const notes = []
let subscribed = false

const send = message => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const text = value => ({ content: [{ type: 'text', text: value }] })
const tool = (name, properties = {}) => ({
  name,
  description: `Notes: ${name}`,
  inputSchema: { type: 'object', properties },
})

/** What only the user of this process has. */
const own = process.env.OWN_TOOL ? [tool(process.env.OWN_TOOL)] : []

function call({ name, arguments: args = {}, _meta: meta = {} }) {
  if (name === 'crash') process.exit(3)
  if (name !== 'note') return text(JSON.stringify({ pid: process.pid, env: process.env, notes }))
  notes.push(args.text)
  process.stderr.write(`noted ${args.text}\n`)
  if (meta.progressToken !== undefined)
    send({
      method: 'notifications/progress',
      params: { progressToken: meta.progressToken, progress: 1, message: args.text },
    })
  send({ method: 'notifications/tools/list_changed' })
  send({ method: 'notifications/message', params: { level: 'error', data: args.text } })
  if (subscribed)
    send({ method: 'notifications/resources/updated', params: { uri: 'note://all', title: args.text } })
  return text(`${notes.length} notes`)
}

const ANSWERS = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: {
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      logging: {},
    },
    serverInfo: { name: 'notes', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({
    tools: [tool('about'), tool('note', { text: { type: 'string' } }), tool('crash'), ...own],
  }),
  'tools/call': call,
  'resources/list': () => ({ resources: [{ uri: 'note://all', name: 'all' }] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'resources/read': ({ uri }) => ({ contents: [{ uri, text: notes.join('\n') }] }),
  'resources/subscribe': () => {
    subscribed = true
    return {}
  },
  'resources/unsubscribe': () => {
    subscribed = false
    return {}
  },
  'logging/setLevel': () => ({}),
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line)
  if (id === undefined || method === undefined) continue
  const answer = ANSWERS[method]
  if (answer) send({ id, result: answer(params) })
  else send({ id, error: { code: -32601, message: 'no such method' } })
}
