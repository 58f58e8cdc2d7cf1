/**
 * Joins sockets and streams of this machine with ports of pods, as `kubectl port-forward` does: over a WebSocket to the API server, whose binary messages
 * begin with a channel (0: data, 1: errors); the first message of each channel is the port.
 */
import type { Duplex } from 'node:stream'
import { Agent, request, WebSocket } from 'undici'
import { systemClock } from '../async.ts'
import { readBounded } from '../bounded.ts'
import { Fault, messageOf } from '../errors.ts'
import type { Access } from './access.ts'

export type PodPort = { namespace: string; pod: string; port: number }

export type PortForwarder = {
  /**
   * Resolves once they are joined; when either ends, so does the other. `onRefused` is called with the message of the node if
   * nothing listens at that port. Throws a Fault: `bad_request` if the API server does not permit it, `unavailable` otherwise.
   */
  join(socket: Duplex, to: PodPort, onRefused: (message: string) => void): Promise<void>
}

const PROTOCOL = 'v4.channel.k8s.io'
const [DATA, ERROR] = [0, 1]
/** A channel and the two bytes of a port. */
const HEAD_BYTES = 3
/** A reader that lags behind by more is disconnected, since the protocol cannot make the other side wait. */
const MAX_UNREAD_BYTES = 64 << 20
/** While more is not sent yet, the socket has to wait. */
const MAX_UNSENT_BYTES = 4 << 20
const UNSENT_CHECK_MS = 10
const MAX_REASON_BYTES = 1 << 20
const CONNECT_TIMEOUT_MS = 10_000
const DENIED: ReadonlySet<number> = new Set([401, 403])

export function createPortForwarder(access: Access): PortForwarder {
  return {
    async join(socket, to, onRefused) {
      socket.pause()
      const { headers, tls } = await access.credentials()
      const dispatcher = new Agent({ allowH2: false, connect: { ...tls, timeout: CONNECT_TIMEOUT_MS } })
      const path = `/api/v1/namespaces/${to.namespace}/pods/${to.pod}/portforward?ports=${to.port}`
      const url = `${access.server}${path}`
      const stream = new WebSocket(url.replace(/^http/, 'ws'), { protocols: [PROTOCOL], headers, dispatcher })
      stream.binaryType = 'arraybuffer'
      const receive = receiver(socket, onRefused)
      stream.onmessage = ({ data }) => receive(Buffer.from(data as ArrayBuffer))
      const close = () => {
        stream.close()
        void dispatcher.close()
      }
      if (!(await opened(stream))) {
        const why = await reasonOf(url, headers, dispatcher).finally(() => dispatcher.close())
        throw new Fault(why.denied ? 'bad_request' : 'unavailable', why.message)
      }
      stream.onclose = () => socket.end()
      stream.onerror = () => socket.destroy()
      send(socket, stream)
      socket.once('close', close)
      if (socket.destroyed) close()
      else socket.resume()
    },
  }
}

/** Sends what the socket gives. A WebSocket has no event for when it has sent, so it is asked. */
function send(socket: Duplex, stream: WebSocket): void {
  const isFull = () => stream.readyState === WebSocket.OPEN && stream.bufferedAmount > MAX_UNSENT_BYTES
  const goOn = () => {
    if (isFull()) systemClock.after(UNSENT_CHECK_MS, goOn)
    else socket.resume()
  }
  socket.on('data', chunk => {
    stream.send(Buffer.concat([Buffer.from([DATA]), chunk]))
    if (!isFull()) return
    socket.pause()
    goOn()
  })
}

/** Takes the messages of one stream. The first of each channel names the port. */
function receiver(socket: Duplex, onRefused: (message: string) => void): (message: Buffer) => void {
  const begun = new Set<number>()
  return message => {
    const channel = message[0] ?? DATA
    const data = message.subarray(begun.has(channel) ? 1 : HEAD_BYTES)
    begun.add(channel)
    if (data.length === 0) return
    if (channel === ERROR) {
      onRefused(data.toString('utf8').trim())
      socket.destroy()
    } else if (channel === DATA) {
      socket.write(data)
      if (socket.writableLength > MAX_UNREAD_BYTES) socket.destroy()
    }
  }
}

function opened(stream: WebSocket): Promise<boolean> {
  return new Promise(resolve => {
    stream.onopen = () => resolve(true)
    stream.onerror = () => resolve(false)
    stream.onclose = () => resolve(false)
  })
}

/** Why no WebSocket was opened: repeats the request without one, since a failed WebSocket does not give the answer of the API server. */
async function reasonOf(
  url: string,
  headers: Record<string, string>,
  dispatcher: Agent,
): Promise<{ denied: boolean; message: string }> {
  try {
    const { statusCode, body } = await request(url, { headers, dispatcher })
    const text = await readBounded(body, MAX_REASON_BYTES, () => new Error(`HTTP ${statusCode}`))
    const { message } = JSON.parse(text.toString('utf8')) as { message?: unknown }
    const said = typeof message === 'string' ? message : `HTTP ${statusCode}`
    return { denied: DENIED.has(statusCode), message: `the API server refuses to forward the port: ${said}` }
  } catch (error) {
    return { denied: false, message: `the port cannot be forwarded: ${messageOf(error)}` }
  }
}
