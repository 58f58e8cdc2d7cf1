/** A 2025 session over streamable HTTP: a handshake, requests, and a GET stream for messages between them. */
import type { Timer } from '../../../async.ts'
import { waitFor } from '../../../deadline.ts'
import { isObject } from '../../../json.ts'
import { changingLists } from '../../protocol/declares.ts'
import type { McpResponse, Notification } from '../../protocol/json-rpc.ts'
import type { Incoming } from '../../protocol/message.ts'
import type { UpstreamCall } from '../../upstream.ts'
import { upstreamDeadline } from '../../upstream-deadline.ts'
import { initialize, type Negotiated } from '../handshake.ts'
import { refusedAnswers } from '../refused-answers.ts'
import { subscribeCall, unsubscribe } from '../subscribe-requests.ts'
import type { HttpClient } from './http-client.ts'
import { HttpRpc } from './http-rpc.ts'
import { keepStream } from './kept-stream.ts'
import { LogLevel } from './log-level.ts'
import { MessageRouter } from './message-router.ts'
import type { Session, SessionHooks } from './session.ts'
import type { RemoteDeps } from './spec.ts'

const STREAM_WAIT_MS = 1_000
/** Proxies cut streams again and again; lists are read again because of it at most once in this time. */
const MISSED_PAUSE_MS = 30_000

/** Performs the handshake of a new session. Throws its Faults, after which the upstream is told to end the session. */
export async function openLegacy(
  http: HttpClient,
  deps: RemoteDeps,
  hooks: SessionHooks,
  signal: AbortSignal,
): Promise<Session> {
  const session = new LegacySession(http, deps, hooks)
  try {
    await session.start(signal)
    return session
  } catch (error) {
    void session.close()
    throw error
  }
}

class LegacySession implements Session {
  info: Negotiated = { protocolVersion: '', wireVersion: '', capabilities: {} }
  readonly #http: HttpClient
  readonly #deps: RemoteDeps
  readonly #hooks: SessionHooks
  readonly #rpc: HttpRpc
  readonly #router: MessageRouter
  #logLevel: LogLevel | undefined
  #stopListening: (() => void) | undefined
  /** Resolves once the GET stream is open for the first time, or was refused, if only for now. */
  #open: Promise<void> | undefined
  #closing: Promise<void> | undefined
  /** When missed lists were reported last. */
  #toldMs = Number.NEGATIVE_INFINITY
  /** Runs until they are reported again. */
  #telling: Timer | undefined

  constructor(http: HttpClient, deps: RemoteDeps, hooks: SessionHooks) {
    this.#http = http
    this.#deps = deps
    this.#hooks = hooks
    this.#rpc = new HttpRpc(http, deps.clock, (message, characters, call) =>
      this.#router.take(message, characters, call),
    )
    this.#rpc.onLost = hooks.lost
    this.#router = new MessageRouter(hooks, this.#rpc.calls, reply => this.#rpc.send(reply))
    this.#rpc.onEnded = call => this.#router.callEnded(call)
  }

  async start(signal: AbortSignal): Promise<void> {
    const { capabilities, listen: wanted, own } = this.#hooks
    this.info = await initialize((call, end) => this.#rpc.ask(call, end), signal, capabilities)
    this.#rpc.speak(this.info.wireVersion)
    await this.#rpc.tell({ method: 'notifications/initialized' }, signal)
    const declared = this.info.capabilities
    if (isObject(declared.logging))
      this.#logLevel = new LogLevel((call, end) => this.#rpc.ask(call, end), this.#deps.clock, own)
    const sendsMessages = changingLists(declared).length > 0 || (own && isObject(declared.logging))
    const mayAsk = Object.keys(capabilities).length > 0
    if (mayAsk) await this.#listening(signal)
    else if (wanted && sendsMessages) void this.#listen()
  }

  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse | 'lost'> {
    const refused = refusedAnswers(call)
    if (refused) return Promise.resolve(refused)
    this.#router.began(call)
    const setting = this.#logLevel?.ahead(call.caller.logLevel, signal)
    return setting ? setting.then(() => this.#rpc.ask(call, signal)) : this.#rpc.ask(call, signal)
  }

  tell(notification: Notification): void {
    void this.#rpc.send({ jsonrpc: '2.0', ...notification })
  }

  async subscribe(uri: string, signal: AbortSignal): Promise<McpResponse | 'lost'> {
    await this.#listening(signal)
    return this.#rpc.ask(subscribeCall(uri), signal)
  }

  unsubscribe(uri: string): void {
    const { clock } = this.#deps
    void unsubscribe(uri, clock, (call, end) => this.#rpc.ask(call, end))
  }

  close(): Promise<void> {
    this.#stopListening?.()
    this.#telling?.cancel()
    this.#router.end()
    this.#closing ??= this.#rpc.end()
    return this.#closing
  }

  /** Waits up to 1 s for the GET stream: many servers drop messages before it is open. Some send its headers only with the first message. */
  async #listening(signal: AbortSignal): Promise<void> {
    const limit = upstreamDeadline(this.#deps.clock, STREAM_WAIT_MS, 'The stream is not open in time', signal)
    await waitFor(this.#listen(), limit.signal).catch(() => {})
    limit.clear()
  }

  #reopened(): void {
    const { clock } = this.#deps
    this.#hooks.reopened()
    if (changingLists(this.info.capabilities).length === 0) return
    const waitMs = this.#toldMs + MISSED_PAUSE_MS - clock.elapsed()
    if (waitMs <= 0) this.#tellMissedLists()
    else this.#telling ??= clock.after(waitMs, () => this.#tellMissedLists())
  }

  #tellMissedLists(): void {
    this.#telling = undefined
    this.#toldMs = this.#deps.clock.elapsed()
    this.#hooks.missedLists()
  }

  #listen(): Promise<void> {
    if (this.#open) return this.#open
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#open = promise
    const headers: Record<string, string> = { ...this.#rpc.headers, accept: 'text/event-stream' }
    const listener = {
      opened: (attempt: number) => {
        resolve()
        if (attempt > 0) this.#reopened()
      },
      heard: (message: Incoming, characters: number) => this.#router.take(message, characters),
      refused: () => resolve(),
      refusedForNow: () => resolve(),
      gone: headers['mcp-session-id'] === undefined ? undefined : this.#hooks.lost,
    }
    const stop = keepStream(this.#http, () => ({ method: 'GET', headers }), listener, this.#deps)
    this.#stopListening = () => {
      stop()
      resolve()
    }
    return promise
  }
}
