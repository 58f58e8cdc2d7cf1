/**
 * The upstream of the comparison as a process: minimal servers of both eras, at /legacy/mcp and /modern/mcp. Its first line on
 * stdout is `{"port"}`. Argument: milliseconds until it answers a call; 0 by default.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { JsonObject } from '../../../core/json.ts'

const ANSWER_MS = Number(process.argv[2] ?? 0)

type Message = { id?: number | string; method?: string; params?: JsonObject }

const serverInfo = { name: 'echo', version: '1.0.0' }
const capabilities = { tools: {} }
const ECHO = {
  name: 'echo',
  description: 'Says the text again',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
}
const CACHED = '"resultType":"complete","ttlMs":0,"cacheScope":"private",'
const LEGACY = new Map([
  ['initialize', JSON.stringify({ protocolVersion: '2025-11-25', capabilities, serverInfo })],
  ['ping', '{}'],
  ['tools/list', JSON.stringify({ tools: [ECHO] })],
])
const MODERN = new Map([
  ['server/discover', `{${CACHED}"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`],
  ['tools/list', `{${CACHED}"tools":${JSON.stringify([ECHO])}}`],
])

const server = createServer((request, response) => {
  const modern = request.url === '/modern/mcp'
  if (request.method !== 'POST') return void response.writeHead(405).end()
  read(request, body => {
    const { id, method = '', params } = JSON.parse(body) as Message
    if (id === undefined) return void response.writeHead(202).end()
    const listed = (modern ? MODERN : LEGACY).get(method)
    const result = listed ?? (method === 'tools/call' ? echo(params, modern) : undefined)
    const rest =
      result === undefined ? `"error":{"code":-32601,"message":"Method not found"}` : `"result":${result}`
    const send = () => answer(response, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${rest}}`)
    if (ANSWER_MS > 0 && method === 'tools/call') setTimeout(send, ANSWER_MS)
    else send()
  })
})

function echo(params: JsonObject | undefined, modern: boolean): string {
  const { text } = (params?.arguments ?? {}) as { text?: string }
  return `{${modern ? '"resultType":"complete",' : ''}"content":[{"type":"text","text":${JSON.stringify(text ?? '')}}]}`
}

function read(request: IncomingMessage, done: (body: string) => void): void {
  const chunks: Buffer[] = []
  request.on('data', chunk => chunks.push(chunk)).on('end', () => done(`${Buffer.concat(chunks)}`))
}

function answer(response: ServerResponse, text: string): void {
  response.writeHead(200, [
    'content-type',
    'application/json',
    'content-length',
    `${Buffer.byteLength(text)}`,
  ])
  response.end(text)
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${JSON.stringify({ port: typeof address === 'object' ? address?.port : 0 })}\n`)
})
// The parent process holds the other end of stdin, so this process ends when the parent does.
process.stdin.resume().on('end', () => process.exit())
