/** Answers input that is not a valid HTTP request: malformed, too slow, or with headers that are too large. */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import { answerOn } from '../../core/mcp/server/connections.ts'
import { JSON_TYPE } from '../../core/mcp/server/post-response.ts'
import { errorText } from '../../core/mcp/server/reply.ts'

export const MAX_HEADER_BYTES = 16 * 1024

const PROBLEMS: Readonly<Record<string, { status: number; message: string }>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive' },
  HPE_HEADER_OVERFLOW: { status: 431, message: `Headers too large: at most ${MAX_HEADER_BYTES} bytes` },
}
const NOT_HTTP = { status: 400, message: 'Bad Request: not valid HTTP/1.1' }

/** Answers, and closes the connection. If an answer is already being written, nothing is added to it. */
export function answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || answerOn(socket)?.headersSent) {
    socket.destroy()
    return
  }
  const { status, message } = PROBLEMS[error.code ?? ''] ?? NOT_HTTP
  const text = errorText(null, { code: TRANSPORT_ERROR, message })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(text)}`,
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy())
}
