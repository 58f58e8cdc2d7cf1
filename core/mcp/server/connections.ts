/** The open connections of a server: one whose reader takes nothing is cut, and at the end each closes after the answer it waits for. */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../async.ts'

export type Connections = {
  /** From now on each answer that has not begun is the last on its connection. */
  end(): void
}

/** So long may a reader take nothing of what is sent to it. */
const STALL_MS = 30_000

/** Looks at them now and then, until the server closes. */
export function watchConnections(server: Server, clock: Clock, stallMs = STALL_MS): Connections {
  const sockets = new Set<Socket>()
  let timer: Timer | undefined
  const later = (): void => {
    timer = clock.after(stallMs, () => {
      for (const socket of sockets) limit(socket, stallMs)
      later()
    })
  }
  server.on('listening', later)
  server.on('close', () => timer?.cancel())
  server.on('connection', socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return {
    end() {
      for (const socket of sockets) {
        const answer = answerOn(socket)
        if (answer && !answer.headersSent) answer.shouldKeepAlive = false
      }
    },
  }
}

/** The answer that a connection waits for, or is taking; node:http keeps it there. */
export function answerOn(socket: Socket): ServerResponse | undefined {
  return (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined
}

/** Every byte that is taken pushes a socket's own time limit on; the server destroys what exceeds it. */
function limit(socket: Socket, stallMs: number): void {
  const waits = socket.writableLength > 0
  if (waits && !socket.timeout) socket.setTimeout(stallMs)
  else if (!waits && socket.timeout === stallMs) socket.setTimeout(0)
}
