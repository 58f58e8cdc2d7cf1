/** Sends requests to the replicas of this router, and passes on their answers as they come. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Agent, type Dispatcher } from 'undici'
import type { Clock } from '../../core/async.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import type { RequestHeaders } from '../../core/mcp/server/headers.ts'
import type { InFlight } from '../../core/mcp/server/in-flight.ts'
import { writeText } from '../../core/mcp/server/post-response.ts'
import { errorText } from '../../core/mcp/server/reply.ts'
import { createSilence } from './silence.ts'

export type Replicas = {
  /**
   * Answers on `raw` in a replica's words; false where nobody is there and nothing was answered: it surely got nothing, or what was sent
   * may be repeated. Never rejects.
   */
  ask(sent: Sent, raw: ServerResponse): Promise<boolean>
  /** Sends a message whose answer is of no interest. Never rejects. */
  tell(sent: Sent): Promise<void>
  close(): Promise<void>
}

/** `headers` may be those of a request that came, as they are. */
export type Sent = {
  origin: string
  path: string
  method: Dispatcher.HttpMethod
  headers: RequestHeaders
  body?: string
  /** Nothing is lost where it is done twice. */
  repeatable?: boolean
}

export type ReplicasOptions = {
  inFlight: InFlight
  /** Aborts when the server ends: whoever listens is then let go. */
  draining: AbortSignal
  log: Log
  clock: Clock
}

/** `refused`: nobody listens there, which is quickly said; `ending`: it said so itself; with the others it takes long to find out. */
export type Gone = 'refused' | 'ending' | 'unreachable' | 'silent'

/** On a request: it was handed over, and is not handed on. */
export const FORWARDED = 'portolan-forwarded'
/** On the answer to one that was handed over: the replica ends, and will soon take no others. */
export const ENDING = 'portolan-ending'

const CONNECT_TIMEOUT_MS = 1_000
/** Shorter than any replica goes on taking requests while it ends: we, not it, close an idle connection. */
const IDLE_MS = 1_000
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
  ENDING,
])
const BROKE_OFF =
  'The replica that this belongs to ended during the request. Check whether it took effect, then try again.'

/** `onGone` is told of a replica that could not be asked. */
export function createReplicas(
  { inFlight, draining, log, clock }: ReplicasOptions,
  onGone: (origin: string, how: Gone) => void,
): Replicas {
  const agent = new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS },
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const silence = createSilence(agent, clock)
  return {
    async ask({ repeatable = false, ...sent }, raw) {
      const { origin } = sent
      const listens = sent.method === 'GET'
      // Aborts when the caller goes away, and when this process has to end.
      const own = inFlight.open(raw, undefined).signal
      const left = listens ? AbortSignal.any([own, draining]) : own
      const silent = new AbortController()
      const signal = AbortSignal.any([left, silent.signal])
      const stopWatching = silence.watch(origin, () => silent.abort(new Error('it says nothing any more')))
      try {
        const answer = await agent.request({ ...sent, headers: withoutOwn(sent.headers), signal })
        if (answer.headers[ENDING] !== undefined) onGone(origin, 'ending')
        raw.writeHead(answer.statusCode, withoutOwn(answer.headers))
        for await (const chunk of answer.body) if (!raw.write(chunk)) await once(raw, 'drain', { signal })
        raw.end()
      } catch (error) {
        const gone = left.aborted ? undefined : silent.signal.aborted ? 'silent' : howGone(error)
        if (gone) {
          log.warn({ owner: origin, error: messageOf(error) }, 'another replica is gone')
          onGone(origin, gone)
        }
        // What a silent one took may take effect yet.
        if (gone && !raw.headersSent && (gone !== 'silent' || repeatable)) return false
        breakOff(raw, listens, left)
      } finally {
        stopWatching()
      }
      return true
    },
    async tell(sent) {
      const signal = AbortSignal.any([AbortSignal.timeout(TOLD_WITHIN_MS), draining])
      try {
        const { body } = await agent.request({ ...sent, headers: withoutOwn(sent.headers), signal })
        await body.dump()
      } catch (error) {
        log.debug({ owner: sent.origin, error: messageOf(error) }, 'a replica was not told')
        onGone(sent.origin, howGone(error) ?? 'silent')
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

/** Undefined where the replica may have got the request. */
function howGone(error: unknown): Gone | undefined {
  const { code = '' } = error as { code?: string }
  if (code === 'ECONNREFUSED') return 'refused'
  const unreachable = ['EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'].includes(code)
  return unreachable ? 'unreachable' : undefined
}

function withoutOwn(headers: RequestHeaders): Record<string, string | string[]> {
  const kept = Object.entries(headers).filter(
    (entry): entry is [string, string | string[]] => entry[1] !== undefined && !OWN_HEADERS.has(entry[0]),
  )
  return Object.fromEntries(kept)
}
