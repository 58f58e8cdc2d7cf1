/** What a 2026 session listens to with `subscriptions/listen`: changed lists, and each subscribed resource in a request of its own. */
import { waitFor } from '../../../deadline.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import { createCaller } from '../../caller.ts'
import { changesFilter } from '../../protocol/declares.ts'
import { METHOD_NOT_FOUND } from '../../protocol/error-codes.ts'
import type { McpResponse, Notification } from '../../protocol/json-rpc.ts'
import type { UpstreamCall } from '../../upstream.ts'

export const LISTEN = 'subscriptions/listen'
/** For acknowledgements, and the answer that ends a listen. */
const MAX_ACK_BYTES = 256 * 1024
const NOT_SUBSCRIBED = {
  code: METHOD_NOT_FOUND,
  message: 'The server does not accept subscriptions to this resource',
}

/** Sends a request of the session; the caller in it receives the acknowledgement. */
type Request = (call: UpstreamCall, signal: AbortSignal) => Promise<McpResponse>

export class Listening {
  readonly #request: Request
  /** Ends the listen of each resource. */
  readonly #streams = new Map<string, AbortController>()

  constructor(request: Request) {
    this.#request = request
  }

  /** Listens for changes of the lists that the server declares, until `signal` aborts. */
  lists(capabilities: JsonObject, signal: AbortSignal): void {
    const filter = changesFilter(capabilities)
    if (Object.keys(filter).length > 0) this.#listen(filter, signal).catch(() => {})
  }

  /** Listens for updates of a resource until `unsubscribe`. Resolves with `result: {}` or the refusal; rejects with the Faults of requests. */
  async subscribe(uri: string, signal: AbortSignal): Promise<McpResponse> {
    const end = new AbortController()
    try {
      const answer = await waitFor(this.#listen({ resourceSubscriptions: [uri] }, end.signal), signal)
      if (answer.error) end.abort()
      else this.#streams.set(uri, end)
      return answer
    } catch (error) {
      end.abort()
      throw error
    }
  }

  unsubscribe(uri: string): void {
    this.#streams.get(uri)?.abort()
    this.#streams.delete(uri)
  }

  /** Opens `subscriptions/listen` until `signal` aborts; resolves when it is acknowledged or refused. */
  #listen(notifications: JsonObject, signal: AbortSignal): Promise<McpResponse> {
    return new Promise((resolve, reject) => {
      const notify = ({ params }: Notification) => {
        const accepted = isObject(params?.notifications) ? Object.keys(params.notifications) : []
        const all = Object.keys(notifications).every(key => accepted.includes(key))
        resolve(all ? { result: {} } : { error: NOT_SUBSCRIBED })
      }
      const call = {
        method: LISTEN,
        params: { notifications },
        caller: createCaller({ notify }),
        maxBytes: MAX_ACK_BYTES,
      }
      this.#request(call, signal).then(resolve, reject)
    })
  }
}
