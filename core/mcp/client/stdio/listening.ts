/** What a 2026 session listens to with `subscriptions/listen`: changed lists, and each subscribed resource in a request of its own. */
import { waitFor } from '../../../deadline.ts'
import type { JsonObject } from '../../../json.ts'
import { changesFilter, changingLists } from '../../protocol/declares.ts'
import type { McpResponse, Notification } from '../../protocol/json-rpc.ts'
import { RESOURCE_UPDATED } from '../../protocol/message.ts'
import { type KeptListen, type KeptListenDeps, keepListening } from './kept-listen.ts'
import type { StdioLog } from './stdio-rpc.ts'

export type ListeningDeps = KeptListenDeps & {
  log?: StdioLog
  /** Receives what the server may have failed to report, in the form in which it would have reported it. */
  missed(notification: Notification): void
}

export class Listening {
  readonly #deps: ListeningDeps
  /** Ends the listen of each resource. */
  readonly #resources = new Map<string, AbortController>()
  /** What has been logged: each message once a session, however many resources there are. */
  readonly #logged = new Set<string>()

  constructor(deps: ListeningDeps) {
    this.#deps = deps
  }

  /** Listens for changes of the lists that the server declares, until the session is over. */
  lists(capabilities: JsonObject): void {
    const notifications = changesFilter(capabilities)
    if (Object.keys(notifications).length === 0) return
    const missed = () => {
      for (const list of changingLists(capabilities))
        this.#deps.missed({ method: `notifications/${list}/list_changed` })
    }
    const listen = { notifications, insists: true, renewed: missed }
    this.#keep(listen, this.#deps.over).catch(() => {})
  }

  /**
   * Listens for updates of a resource until `unsubscribe` or the end of the session. `signal` only ends the wait for the answer.
   * Resolves with `result: {}` or the refusal; rejects with the Faults of requests. After these nothing is left to unsubscribe.
   */
  async subscribe(uri: string, signal: AbortSignal): Promise<McpResponse> {
    const end = new AbortController()
    const renewed = () => this.#deps.missed({ method: RESOURCE_UPDATED, params: { uri } })
    const listen = { notifications: { resourceSubscriptions: [uri] }, insists: false, renewed }
    try {
      const answer = await waitFor(this.#keep(listen, end.signal), signal)
      if (!answer.error) this.#resources.set(uri, end)
      return answer
    } catch (error) {
      end.abort()
      throw error
    }
  }

  unsubscribe(uri: string): void {
    this.#resources.get(uri)?.abort()
    this.#resources.delete(uri)
  }

  /** Listens until `signal` aborts; settles with the first acknowledgement, refusal or Fault. */
  #keep(
    listen: Pick<KeptListen, 'notifications' | 'insists' | 'renewed'>,
    signal: AbortSignal,
  ): Promise<McpResponse> {
    return new Promise((settle, fail) => {
      const ended = (code?: number) =>
        this.#logOnce('info', { code }, 'server ended subscriptions/listen; it is asked again')
      const unknown = () =>
        this.#logOnce('warn', {}, 'server no longer knows subscriptions/listen; its changes are not heard')
      void keepListening({ ...listen, settle, fail, ended, unknown }, signal, this.#deps)
    })
  }

  #logOnce(level: 'info' | 'warn', fields: object, message: string): void {
    if (this.#logged.has(message)) return
    this.#logged.add(message)
    this.#deps.log?.[level](fields, message)
  }
}
