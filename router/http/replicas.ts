/** Sends requests to the replicas of this router, and passes on their answers as they come. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Agent, type Dispatcher } from 'undici'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { writeText } from '../../core/mcp/front/exchange.ts'
import type { RequestHeaders } from '../../core/mcp/front/headers.ts'
import type { InFlight } from '../../core/mcp/front/in-flight.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/front/rejection.ts'
import { errorText } from '../../core/mcp/front/reply.ts'

export type Replicas = {
  /**
   * Answers on `raw` in a replica's words; false where it surely got nothing, as nobody is there, and nothing was answered.
   * Never rejects.
   */
  ask(sent: Sent, raw: ServerResponse): Promise<boolean>
  /** Sends a message whose answer is of no interest; false where it was not taken. Never rejects. */
  tell(sent: Sent): Promise<boolean>
  close(): Promise<void>
}

/** `headers` may be those of a request that came, as they are. */
export type Sent = {
  origin: string
  path: string
  method: Dispatcher.HttpMethod
  headers: RequestHeaders
  body?: string
}

export type ReplicasOptions = {
  inFlight: InFlight
  /** Aborts when the server ends: whoever listens is then let go. */
  draining: AbortSignal
  log: Log
}

const CONNECT_TIMEOUT_MS = 1_000
/** Streams show that they live four times as often. */
const SILENT_STREAM_MS = 60_000
const TOLD_WITHIN_MS = 5_000
/** Of one connection alone, written anew, or (the origin) checked already. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'te',
  'trailer',
  'content-length',
  'host',
  'upgrade',
  'expect',
  'origin',
])
const BROKE_OFF =
  'The replica that this belongs to ended during the request. Check whether it took effect, then try again.'

export function createReplicas({ inFlight, draining, log }: ReplicasOptions): Replicas {
  const agent = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS }, headersTimeout: 0, bodyTimeout: 0 })
  return {
    async ask(sent, raw) {
      const listens = sent.method === 'GET'
      // Aborts when the caller goes away, and when this process has to end.
      const own = inFlight.open(raw, undefined).signal
      const signal = listens ? AbortSignal.any([own, draining]) : own
      const bodyTimeout = listens ? SILENT_STREAM_MS : 0
      try {
        const headers = withoutOwn(sent.headers)
        const answer = await agent.request({ ...sent, headers, signal, bodyTimeout })
        raw.writeHead(answer.statusCode, withoutOwn(answer.headers))
        for await (const chunk of answer.body) if (!raw.write(chunk)) await once(raw, 'drain', { signal })
        raw.end()
      } catch (error) {
        if (!signal.aborted && !raw.headersSent && isUnreachable(error)) {
          log.warn({ owner: sent.origin, error: messageOf(error) }, 'another replica is gone')
          return false
        }
        breakOff(raw, listens, signal)
      }
      return true
    },
    async tell(sent) {
      const signal = AbortSignal.any([AbortSignal.timeout(TOLD_WITHIN_MS), draining])
      try {
        const { body } = await agent.request({ ...sent, headers: withoutOwn(sent.headers), signal })
        await body.dump()
        return true
      } catch (error) {
        log.debug({ owner: sent.origin, error: messageOf(error) }, 'a replica was not told')
        return false
      }
    },
    close: () => agent.destroy(),
  }
}

/** A stream that nobody tells anything on any more just ends: its client listens anew. */
function breakOff(raw: ServerResponse, listens: boolean, signal: AbortSignal): void {
  if (listens && raw.headersSent) raw.end()
  else if (signal.aborted || raw.headersSent) raw.destroy()
  else writeText(raw, 502, errorText(null, { code: TRANSPORT_ERROR, message: BROKE_OFF }))
}

/** Only a replica that surely got nothing may be stood in for. */
function isUnreachable(error: unknown): boolean {
  const { code } = error as { code?: string }
  return ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'].includes(code ?? '')
}

function withoutOwn(headers: RequestHeaders): Record<string, string | string[]> {
  const kept = Object.entries(headers).filter(
    (entry): entry is [string, string | string[]] => entry[1] !== undefined && !OWN_HEADERS.has(entry[0]),
  )
  return Object.fromEntries(kept)
}
