/** Servers over HTTP, one of each era, that show the headers of a call and keep notes for a session; for tests of users. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { JsonObject } from '../../../core/json.ts'
import { readJson, serve } from '../http/serve.ts'
import type { Place } from './login-server.ts'

export type NotesServer = {
  url: string
  /** The received requests, in order; those of 2026-07-28 have no session. */
  requests: { method: string; session?: string; authorization?: string }[]
  close(): Promise<void>
}

type Message = { id?: number | string; method?: string; params?: JsonObject }

const TOOLS = ['about', 'note'].map(name => ({
  name,
  description: `Notes: ${name}`,
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
}))
const SERVER_INFO = { name: 'notes', version: '1.0.0' }
const CAPABILITIES = { tools: {}, resources: {} }

type Admits = (authorization: string | undefined) => Promise<boolean>

/** `admits`: whether the credential of a request is accepted; others are answered 401. Tools: `note {text}`, and `about`, which answers with session, headers and the notes of the session. */
export async function startNotes(
  era: '2025' | '2026',
  admits?: Admits,
  metadata?: () => object,
  place?: Place,
): Promise<NotesServer> {
  const requests: NotesServer['requests'] = []
  const notes = new Map<string, string[]>()
  const served = await serve(
    async (request, response) => {
      if (metadata && request.url?.startsWith('/.well-known/oauth-protected-resource'))
        return void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify(metadata()))
      const message = request.method === 'POST' ? (((await readJson(request)) ?? {}) as Message) : {}
      const { authorization } = request.headers
      const session = header(request, 'mcp-session-id')
      const method = message.method ?? request.method ?? ''
      requests.push({ method, session, authorization })
      if (admits && !(await admits(authorization))) return void response.writeHead(401).end()
      if (request.method === 'GET') return void response.writeHead(405).end()
      if (request.method === 'DELETE') {
        notes.delete(session ?? '')
        return void response.writeHead(204).end()
      }
      if (message.id === undefined) return void response.writeHead(202).end()
      if (method === 'initialize' && era === '2025') {
        const id = randomUUID()
        notes.set(id, [])
        return reply(response, message, initialized(), { 'mcp-session-id': id })
      }
      if (era === '2025' && !notes.has(session ?? '')) return void response.writeHead(404).end()
      const result = answer(message, request, notes.get(session ?? '') ?? [], era)
      if (result) reply(response, message, result)
      else refuse(response, message)
    },
    place?.port,
    place?.host,
  )
  return { url: `${place?.origin ?? served.origin}/mcp`, requests, close: served.close }
}

function answer(
  { method, params = {} }: Message,
  request: IncomingMessage,
  notes: string[],
  era: '2025' | '2026',
): JsonObject | undefined {
  const complete = era === '2026' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {}
  switch (method) {
    case 'server/discover':
      if (era === '2025') return undefined
      return {
        ...complete,
        supportedVersions: ['2026-07-28'],
        capabilities: CAPABILITIES,
        serverInfo: SERVER_INFO,
      }
    case 'ping':
      return {}
    case 'tools/list':
      return { ...complete, tools: TOOLS as unknown as JsonObject[] }
    case 'resources/list':
      return { ...complete, resources: [] }
    case 'resources/templates/list':
      return { ...complete, resourceTemplates: [] }
    case 'tools/call': {
      const { text } = (params.arguments ?? {}) as { text?: string }
      if (params.name === 'note' && text !== undefined) notes.push(text)
      const about = { session: header(request, 'mcp-session-id'), headers: request.headers, notes }
      return { ...complete, content: [{ type: 'text', text: JSON.stringify(about) }] }
    }
    default:
      return undefined
  }
}

function initialized(): JsonObject {
  return { protocolVersion: '2025-11-25', capabilities: CAPABILITIES, serverInfo: SERVER_INFO }
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name]
  return typeof value === 'string' ? value : undefined
}

function reply(
  response: ServerResponse,
  { id }: Message,
  result: JsonObject,
  headers: Record<string, string> = {},
): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
}

function refuse(response: ServerResponse, { id }: Message): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } }))
}
