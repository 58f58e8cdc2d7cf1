/** The MCP session with one child process, in either era: calls, notifications and questions. */
import type { Fault } from '../../../errors.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import { OURSELVES } from '../../caller.ts'
import { envelopeOf } from '../../protocol/envelope.ts'
import { METHOD_NOT_FOUND } from '../../protocol/error-codes.ts'
import type { JsonRpcError, McpResponse, Notification, ServerRequest } from '../../protocol/json-rpc.ts'
import { changedList, LISTEN, notifyCaller, RESOURCE_UPDATED } from '../../protocol/message.ts'
import { type Era, META_SUBSCRIPTION_ID } from '../../protocol/revisions.ts'
import type { UpstreamCall, UpstreamInfo } from '../../upstream.ts'
import { upstreamDeadline } from '../../upstream-deadline.ts'
import { type Question, Questions } from '../questions.ts'
import { refusedAnswers } from '../refused-answers.ts'
import { SessionCallers } from '../session-callers.ts'
import { subscribeCall, unsubscribe } from '../subscribe-requests.ts'
import type { ChildExit } from './child.ts'
import { Listening } from './listening.ts'
import { type EraMemory, forget, isModernFirst, open } from './opening.ts'
import { diedFault, startFault, stoppedFault } from './session-faults.ts'
import { StartupQuestions } from './startup-questions.ts'
import { type CommandSpec, MAX_ACK_BYTES, StdioRpc, type StdioRpcDeps } from './stdio-rpc.ts'

export type SessionSpec = CommandSpec & {
  /** Whether several clients share the child: then no capabilities are declared to it. Default false. */
  shared?: boolean
  /** The capabilities to declare; default none. */
  clientCapabilities?: JsonObject
  /** The era to try first. Default: 2026 for a shared child, else 2025, the only one with sessions. */
  prefers?: Era
}

export type SessionDeps = StdioRpcDeps & {
  /** The known eras of the server. */
  memory: EraMemory
  /** Returns 0 to 1, for the jitter of retries; default Math.random. */
  random?: () => number
  onListChanged: (list: 'tools' | 'resources' | 'prompts') => void
  /** Receives resource updates, and notifications that belong to no call. */
  onNotification?: (notification: Notification) => void
  /** Receives questions while no call is in flight; returns undefined if the client cannot be asked. */
  onRequest?: (request: ServerRequest, signal: AbortSignal) => Promise<McpResponse> | undefined
}

/** Notifications that we send ourselves; those of clients are not forwarded. */
const OURS: ReadonlySet<string> = new Set(['notifications/initialized', 'notifications/cancelled'])

/** How long the child may take to set its log level; calls do not wait for it. */
const SET_LEVEL_MS = 2_000

export class ChildSession {
  /** Resolves after the handshake. Rejects with a Fault whose `details.reason` is StartTimeout, CommandNotFound, ExitedAtStart, … */
  readonly ready: Promise<UpstreamInfo>
  /** Resolves when the child has exited. Never rejects. */
  readonly ended: Promise<ChildExit>
  readonly #spec: SessionSpec
  readonly #deps: SessionDeps
  readonly #rpc: StdioRpc
  readonly #questions: Questions
  readonly #over = new AbortController()
  readonly #callers = new SessionCallers()
  /** Set after the handshake. */
  #info: UpstreamInfo | undefined
  /** The child exited before its first answer, perhaps because it cannot handle `server/discover`. */
  #diedOfProbe = false
  #version = ''
  /** Set until the questions that the child asks at its start are answered. */
  #startup: StartupQuestions | undefined
  #logLevel: string | undefined
  /** Used in the 2026 era. */
  readonly #listening: Listening

  /** Starts the child and the handshake; calls can be sent once `ready` resolves. */
  constructor(spec: SessionSpec, deps: SessionDeps) {
    this.#spec = spec
    this.#deps = deps
    this.#rpc = new StdioRpc(spec, deps, {
      notified: notification => this.#onNotification(notification),
      asked: (request, characters) => this.#asked({ ...request, characters }),
    })
    this.#questions = new Questions({
      capabilities: spec.clientCapabilities ?? {},
      asked: (request, signal) => deps.onRequest?.(request, signal),
      send: reply => this.#rpc.reply(reply),
    })
    this.#listening = new Listening({
      ...deps,
      request: (call, signal) => this.request(call, signal),
      over: this.#over.signal,
      missed: notification => this.#onNotification(notification),
    })
    this.ended = this.#rpc.ended.then(exit => {
      this.#end(diedFault(exit, this.stderr()))
      return exit
    })
    this.ready = this.#handshake()
    this.ready.catch(() => {})
  }

  /** The child exited during the 2026 probe: a new child may survive the 2025 handshake. */
  get diedOfProbe(): boolean {
    return this.#diedOfProbe
  }

  /** Rejects with Fault upstream_died, upstream_too_large, upstream_protocol, cancelled, or the Fault that `signal` carries. */
  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse> {
    if (this.#spec.shared && isOfSession(call.method))
      return Promise.resolve({ error: needsSession(call.method) })
    this.#callers.add(call)
    if (this.#isModern) return this.#rpc.request(call, signal, envelopeOf(call.caller, this.#version))
    const refused = refusedAnswers(call)
    if (refused) return Promise.resolve(refused)
    const { logLevel, ask } = call.caller
    if (logLevel !== undefined && logLevel !== this.#logLevel) this.#setLogLevel(logLevel)
    if (this.#startup && ask) return this.#requestAfterStartup(this.#startup, call, signal)
    return this.#rpc.request(call, signal)
  }

  /** Subscribes to a resource; updates go to `onNotification`. */
  subscribe(uri: string, signal: AbortSignal): Promise<McpResponse> {
    return this.#isModern
      ? this.#listening.subscribe(uri, signal)
      : this.#rpc.request(subscribeCall(uri), signal)
  }

  unsubscribe(uri: string): void {
    if (this.#isModern) this.#listening.unsubscribe(uri)
    else void unsubscribe(uri, this.#deps.clock, (call, end) => this.#rpc.request(call, end))
  }

  /** Forwards a notification of the client to the server. */
  tell(notification: Notification): void {
    if (!this.#isModern && !OURS.has(notification.method)) this.#rpc.send({ jsonrpc: '2.0', ...notification })
  }

  /** The last lines of the child's standard error, without secrets. */
  stderr(): string[] {
    return this.#rpc.stderr()
  }

  /** Rejects calls in flight and ends the child. */
  stop(): Promise<void> {
    this.#end(stoppedFault())
    return this.#rpc.stop()
  }

  get #isModern(): boolean {
    return this.#info?.era === 'modern'
  }

  async #handshake(): Promise<UpstreamInfo> {
    const { startTimeoutMs: timeoutMs, shared = false, clientCapabilities: capabilities } = this.#spec
    const { prefers = shared ? 'modern' : 'legacy' } = this.#spec
    const { clock, memory } = this.#deps
    const rpc = this.#rpc
    const late = `The server did not start within ${timeoutMs / 1000} s`
    const limit = upstreamDeadline(clock, timeoutMs, late, rpc.notMcp)
    const known = { modern: memory.modern, legacy: memory.legacy }
    const guessed = isModernFirst(memory, prefers) && known.modern === undefined
    try {
      const ask = (call: UpstreamCall, signal: AbortSignal) => rpc.request(call, signal)
      const { wireVersion, ...info } = await open({ ask, memory, prefers, capabilities, clock }, limit.signal)
      this.#begin(info, wireVersion)
      return shared ? { ...info, capabilities: withoutSessions(info) } : info
    } catch (error) {
      const exit = rpc.over ? await rpc.ended : undefined
      this.#diedOfProbe = guessed && exit !== undefined && exit.notStarted === undefined
      // A child that exited did not refuse an era; one that refuses both may be another server now.
      if (exit) Object.assign(memory, known)
      else forget(memory)
      throw startFault(error, { exit, garbage: rpc.garbage, stderr: this.stderr() })
    } finally {
      limit.clear()
    }
  }

  #begin(info: UpstreamInfo, version: string) {
    this.#info = info
    this.#version = version
    if (this.#isModern) this.#listening.lists(info.capabilities)
    else this.#initialized()
  }

  #initialized() {
    const rpc = this.#rpc
    rpc.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    const ping = () =>
      rpc.request({ method: 'ping', caller: OURSELVES, maxBytes: MAX_ACK_BYTES }, this.#over.signal)
    if (isObject(this.#spec.clientCapabilities?.roots))
      this.#startup = new StartupQuestions({ clock: this.#deps.clock, ping })
  }

  async #requestAfterStartup(startup: StartupQuestions, call: UpstreamCall, signal: AbortSignal) {
    await startup.wait(call, signal)
    this.#startup = undefined
    return this.#rpc.request(call, signal)
  }

  #end(why: Fault): void {
    this.#over.abort(why)
    this.#questions.end()
  }

  /** Sets the server's log level before a call whose caller wants another one. */
  #setLogLevel(level: string): void {
    if (this.#spec.shared || !isObject(this.#info?.capabilities.logging)) return
    this.#logLevel = level
    const call = {
      method: 'logging/setLevel',
      params: { level },
      caller: OURSELVES,
      maxBytes: MAX_ACK_BYTES,
    }
    const late = 'logging/setLevel took too long'
    const limit = upstreamDeadline(this.#deps.clock, SET_LEVEL_MS, late, this.#over.signal)
    const setting = this.#rpc.request(call, limit.signal)
    void setting.catch(() => {}).finally(() => limit.clear())
  }

  /** Assigns a question to the latest call whose caller can be asked: stdio does not say which call asks. */
  #asked(question: Question) {
    const { id, method } = question
    const inFlight = () => this.#rpc.calls().find(call => call.caller.ask)
    if (!this.#spec.shared || method === 'ping')
      return this.#questions.take(question, inFlight() ?? this.#startup?.asking())
    const message = `${method.slice(0, 100)} is refused: this server is shared, so the asking caller is unknown; set sessions: perClient`
    this.#rpc.send({ jsonrpc: '2.0', id, error: { code: METHOD_NOT_FOUND, message } })
  }

  #onNotification(notification: Notification) {
    const { method, params } = notification
    const list = changedList(method)
    if (list) return this.#deps.onListChanged(list)
    switch (method) {
      case 'notifications/cancelled':
        return this.#questions.cancel(params?.requestId)
      case 'notifications/progress': {
        const call = this.#rpc.callOf(params?.progressToken)
        return call && notifyCaller(call, notification)
      }
      case 'notifications/subscriptions/acknowledged': {
        const meta = isObject(params?._meta) ? params._meta : {}
        return this.#rpc.callOf(meta[META_SUBSCRIPTION_ID])?.caller.notify?.(notification)
      }
      default: {
        const call = method === RESOURCE_UPDATED ? undefined : this.#notifiedCall()
        return call ? call.caller.notify?.(notification) : this.#deps.onNotification?.(notification)
      }
    }
  }

  /** The call that a notification without an id belongs to: the latest, or for a shared child, the only one, if it wants log messages. */
  #notifiedCall(): UpstreamCall | undefined {
    const { shared } = this.#spec
    const calls = this.#rpc.calls().filter(call => call.method !== LISTEN)
    if (shared && (!this.#isModern || calls.length > 1 || this.#callers.several)) return undefined
    return calls.find(({ caller }) => caller.notify && (!shared || caller.logLevel !== undefined))
  }
}

/** Whether a method reads or changes the state of a session. */
function isOfSession(method: string): boolean {
  return method.startsWith('tasks/') || method.startsWith('logging/')
}

function needsSession(method: string): JsonRpcError {
  const message = `${method} needs a session for each client, and this server is shared; set sessions: perClient`
  return { code: METHOD_NOT_FOUND, message }
}

/** The capabilities that work without a session. In the 2026 era each request carries its own log level. */
function withoutSessions({
  capabilities: { logging, tasks: _tasks, ...rest },
  era,
}: UpstreamInfo): JsonObject {
  return era === 'modern' && logging !== undefined ? { ...rest, logging } : rest
}
