/** Sends requests to the other replicas of this router and streams their answers back. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Agent, type Dispatcher } from 'undici'
import type { Clock } from '../../core/async.ts'
import { waitFor } from '../../core/deadline.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import type { RequestHeaders } from '../../core/mcp/server/headers.ts'
import type { InFlight } from '../../core/mcp/server/in-flight.ts'
import { writeText } from '../../core/mcp/server/post-response.ts'
import { errorText } from '../../core/mcp/server/reply.ts'
import type { InternalCredentials } from '../access/internal-credential.ts'
import { createReplicaProofs, type ReplicaProofs, WrongProof } from './replica-proofs.ts'
import { createSilence } from './silence.ts'

export type Replicas = {
  /**
   * Writes the replica's answer to `raw`. Returns false if nothing was answered and another replica may try: the request surely did
   * not arrive, or it may be repeated. Never rejects.
   */
  ask(sent: Sent, raw: ServerResponse): Promise<boolean>
  /** Sends a message whose answer is ignored. Never rejects. */
  notify(sent: Sent): Promise<void>
  close(): Promise<void>
}

/** `headers` may be those of an incoming request, unchanged. */
export type Sent = {
  origin: string
  path: string
  method: Dispatcher.HttpMethod
  headers: RequestHeaders
  body?: string
  /** True if processing the request twice is harmless. */
  repeatable?: boolean
}

export type ReplicasOptions = {
  inFlight: InFlight
  /** Aborts when the server begins to close; streams are then ended. */
  draining: AbortSignal
  log: Log
  clock: Clock
  credentials: Pick<InternalCredentials, 'prove'>
}

/** `refused`: connection refused, which is found out at once; `ending`: the replica announced it; the others take long to detect. */
export type Gone = 'refused' | 'ending' | 'unreachable' | 'silent'

/** Request header: this request was already forwarded and must not be forwarded again. */
export const FORWARDED = 'portolan-forwarded'
/** Response header to a forwarded request: the replica is closing and will soon accept no more requests. */
export const ENDING = 'portolan-ending'

const CONNECT_TIMEOUT_MS = 1_000
/** Shorter than the time for which a closing replica still accepts requests, so that this side closes idle connections. */
const IDLE_MS = 1_000
const NOTIFY_TIMEOUT_MS = 5_000
/** Headers that are not passed on: those of a single connection, those that are written anew, and the origin, which was checked already. */
const NOT_PASSED_ON: ReadonlySet<string> = new Set([
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
const ENDED_DURING_REQUEST =
  'The replica that this belongs to ended during the request. Check whether it took effect, then try again.'

/** `onGone` is called when a replica could not be reached. */
export function createReplicas(
  { inFlight, draining, log, clock, credentials }: ReplicasOptions,
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
  const send = sendingWith(agent, createReplicaProofs(agent, credentials, clock))
  return {
    async ask({ repeatable = false, ...sent }, raw) {
      const { origin } = sent
      const isStream = sent.method === 'GET'
      // Aborts when the caller disconnects and when this process has to stop.
      const exchangeSignal = inFlight.open(raw, undefined).signal
      const stopSignal = isStream ? AbortSignal.any([exchangeSignal, draining]) : exchangeSignal
      const silent = new AbortController()
      const signal = AbortSignal.any([stopSignal, silent.signal])
      const stopWatching = silence.watch(origin, () =>
        silent.abort(new Error('the replica does not answer health checks')),
      )
      try {
        const answer = await send(sent, signal)
        if (answer.headers[ENDING] !== undefined) onGone(origin, 'ending')
        raw.writeHead(answer.statusCode, passedOn(answer.headers))
        for await (const chunk of answer.body) if (!raw.write(chunk)) await once(raw, 'drain', { signal })
        raw.end()
      } catch (error) {
        const gone = stopSignal.aborted ? undefined : silent.signal.aborted ? 'silent' : goneReason(error)
        if (gone) {
          log.warn({ owner: origin, error: messageOf(error) }, 'another replica is gone')
          onGone(origin, gone)
        }
        // A request that a silent replica has received may still take effect.
        if (gone && !raw.headersSent && (gone !== 'silent' || repeatable)) return false
        endOrDestroy(raw, isStream, stopSignal)
      } finally {
        stopWatching()
      }
      return true
    },
    async notify(sent) {
      const signal = AbortSignal.any([AbortSignal.timeout(NOTIFY_TIMEOUT_MS), draining])
      try {
        const { body } = await send(sent, signal)
        await body.dump()
      } catch (error) {
        log.debug({ owner: sent.origin, error: messageOf(error) }, 'a message to another replica failed')
        onGone(sent.origin, goneReason(error) ?? 'silent')
      }
    },
    close: () => agent.destroy(),
  }
}

/** Sends requests to replicas that have proved that they are some; otherwise nothing, and rejects with `Unproven`. */
function sendingWith(agent: Agent, proofs: ReplicaProofs) {
  return async (sent: Sent, signal: AbortSignal): Promise<Dispatcher.ResponseData> => {
    await waitFor(proofs.check(sent.origin), signal).catch(cause => {
      throw new Unproven(messageOf(cause), { cause })
    })
    return agent.request({ ...sent, headers: passedOn(sent.headers), signal })
  }
}

class Unproven extends Error {}

/** An open event stream just ends: its client reconnects. */
function endOrDestroy(raw: ServerResponse, isStream: boolean, signal: AbortSignal): void {
  if (isStream && raw.headersSent) raw.end()
  else if (signal.aborted || raw.headersSent) raw.destroy()
  else writeText(raw, 502, errorText(null, { code: TRANSPORT_ERROR, message: ENDED_DURING_REQUEST }))
}

/** Returns undefined if the replica may have received the request. */
function goneReason(error: unknown): Gone | undefined {
  if (error instanceof Unproven)
    return goneReason(error.cause) ?? (error.cause instanceof WrongProof ? 'unreachable' : 'refused')
  const { code = '' } = error as { code?: string }
  if (code === 'ECONNREFUSED') return 'refused'
  const unreachable = ['EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'].includes(code)
  return unreachable ? 'unreachable' : undefined
}

function passedOn(headers: RequestHeaders): Record<string, string | string[]> {
  const kept = Object.entries(headers).filter(
    (entry): entry is [string, string | string[]] => entry[1] !== undefined && !NOT_PASSED_ON.has(entry[0]),
  )
  return Object.fromEntries(kept)
}
