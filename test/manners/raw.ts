/** HTTP as bytes on a socket: for what no client would send. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { JsonObject } from '../../core/json.ts'

export type RawAnswer = { status: number; head: string; body: string; json: JsonObject }

export function dial(origin: string): Socket {
  const { hostname, port } = new URL(origin)
  return connect(Number(port), hostname)
}

/** As the last part: ends our side of the connection, so that an endless answer is not waited for. */
export const END = Symbol('end')

type Part = string | Uint8Array | typeof END

/** Sends the parts one after the other and gives all that comes back until the connection closes, broken or not. */
export async function talk(origin: string, ...parts: Part[]): Promise<string> {
  const socket = dial(origin)
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk))
  socket.on('error', () => {})
  const closed = new Promise(resolve => socket.once('close', resolve))
  for (const part of parts) {
    if (part === END) socket.end()
    else if (!socket.destroyed && !socket.write(part)) await drained(socket)
  }
  await closed
  return Buffer.concat(chunks).toString()
}

async function drained(socket: Socket): Promise<void> {
  await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {})
}

/** A request with its body; `lines` are its headers, without the length. */
export function requestText(
  target: string,
  { method = 'POST', lines = [], body }: { method?: string; lines?: readonly string[]; body?: string } = {},
): string {
  const length = body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`]
  const head = [`${method} ${target} HTTP/1.1`, ...lines, ...length]
  return `${head.join('\r\n')}\r\n\r\n${body ?? ''}`
}

export const HOST = 'host: localhost'
export const CLOSE = 'connection: close'
export const MCP_LINES: readonly string[] = [
  HOST,
  'content-type: application/json',
  'accept: application/json, text/event-stream',
]
export const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'

/** Splits received text into answers by their Content-Length; an answer without one reaches to the end. */
export function answersIn(text: string): RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) throw new Error(`no HTTP answer: ${rest.slice(0, 200)}`)
    const head = rest.slice(0, end)
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? rest.length - end - 4)
    const body = rest.slice(end + 4, end + 4 + length)
    const json: JsonObject = body.startsWith('{') ? JSON.parse(body) : {}
    answers.push({ status: Number(head.split(' ')[1]), head, body, json })
    rest = rest.slice(end + 4 + length)
  }
  return answers
}

/** The answer to one request, which closes the connection. */
export async function ask(origin: string, ...parts: (string | Uint8Array)[]): Promise<RawAnswer> {
  const text = await talk(origin, ...parts)
  const [answer] = answersIn(text)
  if (!answer) throw new Error('the connection was closed without an answer')
  return answer
}
