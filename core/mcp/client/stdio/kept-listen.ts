/** Keeps one `subscriptions/listen` of a child open: asks again, with backoff, when the server ends it while the child goes on running. */
import { type Clock, delay } from '../../../async.ts'
import { Fault, type FaultCode } from '../../../errors.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import { createCaller } from '../../caller.ts'
import { METHOD_NOT_FOUND } from '../../protocol/error-codes.ts'
import type { McpResponse, Notification } from '../../protocol/json-rpc.ts'
import { LISTEN } from '../../protocol/message.ts'
import { NOT_SUBSCRIBED } from '../../protocol/subscription-errors.ts'
import type { UpstreamCall } from '../../upstream.ts'
import { StreamBackoff } from '../stream-backoff.ts'
import { MAX_ACK_BYTES } from './stdio-rpc.ts'

/** The server has answered, even if the answer cannot be used. */
const ANSWERED: ReadonlySet<FaultCode> = new Set(['upstream_too_large', 'upstream_protocol'])

export type KeptListenDeps = {
  clock: Clock
  /** Returns 0 to 1, for the jitter of retries; default Math.random. */
  random?: () => number
  /** Sends a request of the session; the caller in it receives the acknowledgement. */
  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse>
  /** Aborts when the session is over. */
  over: AbortSignal
}

export type KeptListen = {
  /** The filter. A listen whose acknowledgement has none of its keys is refused. */
  notifications: JsonObject
  /** Whether to ask again even if the first answer is an error. */
  insists: boolean
  /** Receives the first acknowledgement or answer; later ones are of no interest. */
  settle(answer: McpResponse): void
  /** The first listen failed without an answer, with a Fault. */
  fail(error: unknown): void
  /** A further listen is acknowledged: what changed since the previous one ended was not heard. */
  renewed(): void
  /** The server has ended or refused the listen, and is asked again. `code`: of its error. */
  ended(code: number | undefined): void
  /** The server no longer knows the method, and is not asked again. */
  unknown(): void
}

/** How a listen went. */
type Round = {
  /** The server accepted it. */
  listened: boolean
  /** The server acknowledged it without anything that was asked for. */
  forNothing: boolean
  /** Undefined if it was not the server that ended it. `code`: of its error. */
  end: { code?: number } | undefined
}

/**
 * Listens until `signal` aborts, the session is over, or the server does not know the method. Resolves then; never rejects. A listen that
 * the server refuses at first is not asked for again, except as `insists` says.
 */
export async function keepListening(
  listen: KeptListen,
  signal: AbortSignal,
  deps: KeptListenDeps,
): Promise<void> {
  const { clock, random = Math.random, over } = deps
  // Not for requests of resources: those end with the session by themselves, without a cancellation for each.
  const life = AbortSignal.any([signal, over])
  let everListened = false
  const backoff = new StreamBackoff(random)
  for (let round = 0; ; round++) {
    const begun = clock.elapsed()
    const { listened, forNothing, end } = await listenOnce(listen, round, signal, deps)
    if (!end || life.aborted) return
    everListened ||= listened
    if (end.code === METHOD_NOT_FOUND) return everListened ? listen.unknown() : undefined
    if (!everListened && (forNothing || !listen.insists)) return
    listen.ended(end.code)
    const lastedMs = listened ? clock.elapsed() - begun : undefined
    await delay(clock, backoff.nextMs(lastedMs), life).catch(() => {})
    if (life.aborted) return
  }
}

/** Sends one request, and resolves when it has ended. */
async function listenOnce(
  { notifications, settle, fail, renewed }: KeptListen,
  round: number,
  signal: AbortSignal,
  { request }: KeptListenDeps,
): Promise<Round> {
  const refused = new AbortController()
  let listened = false
  const notify = ({ params }: Notification) => {
    if (listened) return
    const accepted = isObject(params?.notifications) ? Object.keys(params.notifications) : []
    listened = accepted.some(key => Object.hasOwn(notifications, key))
    settle(listened ? { result: {} } : { error: NOT_SUBSCRIBED })
    // A request for nothing would stay open at the server.
    if (!listened) refused.abort()
    else if (round > 0) renewed()
  }
  const call = {
    method: LISTEN,
    params: { notifications },
    caller: createCaller({ notify }),
    maxBytes: MAX_ACK_BYTES,
  }
  try {
    const answer = await request(call, AbortSignal.any([signal, refused.signal]))
    settle(answer)
    // Some servers answer a listen at once, without an acknowledgement.
    return { listened: listened || !answer.error, forNothing: false, end: { code: answer.error?.code } }
  } catch (error) {
    fail(error)
    const forNothing = refused.signal.aborted
    const answered = forNothing || (error instanceof Fault && ANSWERED.has(error.code))
    return { listened, forNothing, end: answered && !signal.aborted ? {} : undefined }
  }
}
