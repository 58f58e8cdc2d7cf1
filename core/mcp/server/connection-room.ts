/** Limits a server's connections so that idle ones cannot keep new ones out: near the limit, those that have been idle longest are closed. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { answerOn } from './connections.ts'

export type ConnectionRoom = {
  /** The caller of this request is admitted: its connection is closed after those on which nobody was. */
  admitted(response: ServerResponse): void
}

/** Numbers in the order of connections, and of requests (0: none yet). */
type Use = { opened: number; used: number; isAdmitted: boolean }

/**
 * `closing`: the HTTP response for a request of an admitted caller that may be on its way when its connection is closed. Connections with a
 * request or an open stream are never closed, nor are the newest ones, whose first request may be on its way.
 */
export function keepRoom(server: Server, max: number, closing?: string): ConnectionRoom {
  server.maxConnections = max
  const spare = Math.ceil(max / 16)
  const interval = Math.ceil(spare / 8)
  const uses = new Map<Socket, Use>()
  let opened = 0
  let requests = 0
  const keep = (socket: Socket, use: Use): void => {
    uses.set(socket, use)
    socket.once('close', () => uses.delete(socket))
  }
  const closeIdle = (): void => {
    const excess = uses.size - (max - 2 * spare)
    const idle = [...uses].filter(([socket, use]) => use.opened <= opened - spare && isIdle(socket))
    idle.sort(([, a], [, b]) => compare(a, b))
    for (const [socket, { isAdmitted }] of idle.slice(0, excess)) {
      if (isAdmitted && closing !== undefined) socket.write(closing)
      if (isAdmitted) socket.destroySoon()
      else socket.destroy()
    }
  }
  server.on('connection', (socket: Socket) => {
    keep(socket, { opened: ++opened, used: 0, isAdmitted: false })
    if (opened % interval === 0 && uses.size > max - spare) closeIdle()
  })
  if (server instanceof TlsServer)
    server.on('secureConnection', (socket: Socket) => {
      const raw = rawOf(socket)
      const use = raw && uses.get(raw)
      if (use) keep(socket, use)
      if (raw) uses.delete(raw)
    })
  server.on('request', ({ socket }: IncomingMessage) => {
    const use = uses.get(socket)
    if (use) use.used = ++requests
  })
  return {
    admitted({ socket }) {
      const use = socket && uses.get(socket)
      if (use) use.isAdmitted = true
    },
  }
}

function isIdle(socket: Socket): boolean {
  return !answerOn(socket) && socket.writableLength === 0
}

/** First those without an admitted request, then those whose last request is the oldest. */
function compare(a: Use, b: Use): number {
  return Number(a.isAdmitted) - Number(b.isAdmitted) || a.used - b.used || a.opened - b.opened
}

/** The TCP connection of a TLS connection, from an internal field of node:tls. */
function rawOf(socket: Socket): Socket | undefined {
  return (socket as Socket & { _parent?: Socket | null })._parent ?? undefined
}
