/** Watches a server's connections: cuts those whose client stops reading, and closes all of them without losing requests during shutdown. */
import type { Server, ServerResponse } from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../async.ts'

export type Connections = {
  /** Closes each connection after its current response. */
  end(): void
  /**
   * Closes each connection that has no request. Its client may just be sending one: it gets this HTTP response, and so knows that the
   * request was not processed.
   */
  endIdle(response: string): void
}

/** How long a client may leave sent data unread. */
const STALL_MS = 30_000

/** Checks all connections every `stallMs`, until the server closes. */
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
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
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
    endIdle(response) {
      for (const socket of sockets) if (socket.writable && !answerOn(socket)) socket.end(response)
    },
  }
}

/** The current response of a connection, from an internal field of node:http. */
export function answerOn(socket: Socket): ServerResponse | undefined {
  return (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined
}

/**
 * Sets a timeout while sent data is unread, and removes it afterwards. Reading resets a socket's timeout; the server destroys a socket
 * that reaches it.
 */
function limit(socket: Socket, stallMs: number): void {
  const waits = socket.writableLength > 0
  if (waits && !socket.timeout) socket.setTimeout(stallMs)
  else if (!waits && socket.timeout === stallMs) socket.setTimeout(0)
}
