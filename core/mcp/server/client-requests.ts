/** Open questions to clients of the 2025 era, whose answers arrive as separate POSTs. */
import type { Clock } from '../../async.ts'
import { faultOf } from '../../deadline.ts'
import { Fault } from '../../errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../../json.ts'
import { INTERNAL_ERROR } from '../protocol/error-codes.ts'
import type { McpResponse, Notification, ServerRequest } from '../protocol/json-rpc.ts'
import type { Signer } from './signed.ts'

/** How long a question waits for its answer: a human may have to give it. */
export const ANSWER_WITHIN_MS = 10 * 60_000
const MAX_ASKS = 4_096
const MAX_ASKS_PER_CLIENT = 32

/** Sends a message to a client; returns false if it cannot be reached. */
export type Send = (message: Notification & { id?: JsonValue }) => boolean

type Waiting = { client: string; settle(answer: McpResponse | Fault): void }

export class ClientRequests {
  readonly #clock: Clock
  readonly #signer: Signer
  readonly #waiting = new Map<string, Waiting>()

  constructor(clock: Clock, signer: Signer) {
    this.#clock = clock
    this.#signer = signer
  }

  get size(): number {
    return this.#waiting.size
  }

  /**
   * Sends a request and waits for its answer. Rejects with the Fault of `signal` after cancelling the request at the client, or with
   * `cancelled` if the client cannot be reached, ends its session, or does not answer in time.
   */
  ask(client: string, request: ServerRequest, signal: AbortSignal, send: Send): Promise<McpResponse> {
    if (signal.aborted) return Promise.reject(faultOf(signal))
    const crowded = this.#tooMany(client)
    if (crowded) return Promise.resolve({ error: { code: INTERNAL_ERROR, message: crowded } })
    const id = this.#signer.mark('ask', ANSWER_WITHIN_MS)
    return new Promise((resolve, reject) => {
      const settle = (answer: McpResponse | Fault) => {
        if (!this.#waiting.delete(id)) return
        timer.cancel()
        signal.removeEventListener('abort', onAbort)
        if (answer instanceof Fault) reject(answer)
        else resolve(answer)
      }
      const giveUp = (fault: Fault) => {
        send(cancellation(id, fault.message))
        settle(fault)
      }
      const onAbort = () => giveUp(faultOf(signal))
      const timer = this.#clock.after(ANSWER_WITHIN_MS, () => giveUp(unanswered()))
      signal.addEventListener('abort', onAbort)
      this.#waiting.set(id, { client, settle })
      if (!send({ id, method: request.method, params: request.params })) settle(unreachable())
    })
  }

  /** Handles a client's answer; ignores one that is not awaited, or that another client was asked for. */
  answer(client: string | undefined, message: JsonObject): void {
    const waiting = typeof message.id === 'string' ? this.#waiting.get(message.id) : undefined
    if (waiting && waiting.client === client) waiting.settle(readAnswer(message))
  }

  /** False if another process asked the question with this id. */
  isOurs(id: unknown): boolean {
    const signed = this.#signer.readMark('ask', id)
    return signed === undefined || signed.owner === this.#signer.owner
  }

  /** Ends the open questions of a client that has gone. */
  end(client: string): void {
    for (const waiting of [...this.#waiting.values()]) {
      if (waiting.client === client) waiting.settle(unreachable())
    }
  }

  #tooMany(client: string): string | undefined {
    if (this.#waiting.size >= MAX_ASKS) return 'Too many questions wait for their answers here; try again'
    if (this.#waiting.size < MAX_ASKS_PER_CLIENT) return undefined
    let ofClient = 0
    for (const waiting of this.#waiting.values()) if (waiting.client === client) ofClient++
    return ofClient < MAX_ASKS_PER_CLIENT ? undefined : 'The client has too many questions to answer already'
  }
}

/** The fault for a question that was not answered in time. */
export function unanswered(): Fault {
  const minutes = ANSWER_WITHIN_MS / 60_000
  return new Fault('cancelled', `The client did not answer the question within ${minutes} min.`)
}

function unreachable(): Fault {
  return new Fault('cancelled', 'The client that was asked went away.')
}

function cancellation(requestId: string, reason: string): Notification {
  return { method: 'notifications/cancelled', params: { requestId, reason } }
}

function readAnswer({ result, error }: JsonObject): McpResponse {
  if (isObject(result)) return { result }
  const { code, message, data } = isObject(error) ? error : {}
  return {
    error: {
      code: typeof code === 'number' ? code : INTERNAL_ERROR,
      message: typeof message === 'string' ? message : 'The client gave no message',
      ...(data === undefined ? {} : { data }),
    },
  }
}
