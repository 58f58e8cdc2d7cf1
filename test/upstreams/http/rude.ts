/** An HTTP server whose `initialize` is correct and whose other answers misbehave as a test defines. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequestLog } from './log.ts'
import { readJson, serve } from './serve.ts'

export type Message = { id?: number; method?: string; params?: Record<string, unknown> }

/** Answers one request; `message` is empty for GET and DELETE. */
export type Behaviour = (response: ServerResponse, message: Message, request: IncomingMessage) => void

export type RudeServer = {
  url: string
  origin: string
  /** `POST tools/call`, `GET`, … in the order of arrival. */
  log: string[]
  /** Resolves when there is an entry of the log that starts with `start`. */
  logged(start: string): Promise<void>
  close(): Promise<void>
}

/** The keys of `behaviours` are JSON-RPC methods, `GET`, `DELETE`, or '' for a POST that is not a JSON-RPC request. */
export async function startRude(behaviours: Record<string, Behaviour>): Promise<RudeServer> {
  const log = createRequestLog()
  const served = await serve(async (request, response) => {
    const message = ((request.method === 'POST' ? await readJson(request) : undefined) ?? {}) as Message
    const entry = `${request.method} ${message.method ?? ''}`.trim()
    const key = request.method === 'POST' ? (message.method ?? '') : (request.method ?? '')
    const behaviour = behaviours[key] ?? POLITE[key] ?? nothing
    behaviour(response, message, request)
    log.add(entry)
  })
  return {
    url: `${served.origin}/mcp`,
    origin: served.origin,
    log: log.entries,
    logged: log.logged,
    close: served.close,
  }
}

const nothing: Behaviour = response => void response.writeHead(405).end()

const POLITE: Record<string, Behaviour> = {
  initialize: (response, { id }) => {
    const result = {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'rude', version: '1' },
    }
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  },
  'notifications/initialized': response => void response.writeHead(202).end(),
  'notifications/cancelled': response => void response.writeHead(202).end(),
  DELETE: response => void response.writeHead(200).end(),
}

/** Answers with a JSON-RPC result as plain JSON. */
export function answer(result: unknown): Behaviour {
  return (response, { id }) =>
    raw(200, 'application/json', JSON.stringify({ result, jsonrpc: '2.0', id }))(response, {}, response.req)
}

/** Answers with exactly this body. */
export function raw(status: number, contentType: string, body: string): Behaviour {
  return response => void response.writeHead(status, { 'content-type': contentType }).end(body)
}

/** Starts an event stream, then calls `write`. */
export function stream(write: (response: ServerResponse, message: Message) => void): Behaviour {
  return (response, message) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    write(response, message)
  }
}

/** Writes `chunk` again and again, as long as the other side reads. */
export function flood(response: ServerResponse, chunk: string): void {
  const write = () => {
    while (!response.destroyed && response.write(chunk));
  }
  response.on('drain', write)
  write()
}

export const hang: Behaviour = () => {}
