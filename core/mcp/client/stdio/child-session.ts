/** One child and the MCP session with it, in the era that it speaks: calls and their answers, and what the server says by itself. */
import { waitFor } from '../../../deadline.ts'
import type { Fault } from '../../../errors.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import { createCaller, OURSELVES } from '../../caller.ts'
import { changesFilter } from '../../protocol/declares.ts'
import { envelopeOf } from '../../protocol/envelope.ts'
import { METHOD_NOT_FOUND } from '../../protocol/error-codes.ts'
import type { JsonRpcError, McpResponse, Notification, ServerRequest } from '../../protocol/json-rpc.ts'
import { changedList, notifyCaller, RESOURCE_UPDATED } from '../../protocol/message.ts'
import { type Era, META_SUBSCRIPTION_ID } from '../../protocol/revisions.ts'
import type { UpstreamCall, UpstreamInfo } from '../../upstream.ts'
import { upstreamDeadline } from '../../upstream-deadline.ts'
import { type Question, Questions } from '../questions.ts'
import { refusedAnswers } from '../refused-answers.ts'
import { subscribeCall, unsubscribe } from '../subscribe-requests.ts'
import type { ChildExit } from './child.ts'
import { type EraMemory, forget, isModernFirst, open } from './opening.ts'
import { diedFault, startFault, stoppedFault } from './session-faults.ts'
import { Settling } from './settling.ts'
import { type CommandSpec, StdioRpc, type StdioRpcDeps } from './stdio-rpc.ts'

export type SessionSpec = CommandSpec & {
  /** Whether several clients share the child: then it is told that it can ask for nothing. Default: it is one client's. */
  shared?: boolean
  /** What the server may ask its client for; default nothing. */
  clientCapabilities?: JsonObject
  /** The era to try first; default the newer where clients share the child, else the older, which alone knows sessions. */
  prefers?: Era
}

export type SessionDeps = StdioRpcDeps & {
  /** What is known of the server's era. */
  memory: EraMemory
  onListChanged: (list: 'tools' | 'resources' | 'prompts') => void
  /** Updates of resources that are subscribed to, and what the server says that belongs to no call. */
  onNotification?: (notification: Notification) => void
  /** The server asks its client for something while no call is in flight; undefined: nobody can answer. */
  onRequest?: (request: ServerRequest, signal: AbortSignal) => Promise<McpResponse> | undefined
}

const LISTEN = 'subscriptions/listen'
/** What we say ourselves to the server, with ids of our own. */
const OURS: ReadonlySet<string> = new Set(['notifications/initialized', 'notifications/cancelled'])
/** An acknowledgement, or the answer to a request that only says whether it is taken on. */
const MAX_TAKEN_BYTES = 256 * 1024
const NOT_SUBSCRIBED = {
  code: METHOD_NOT_FOUND,
  message: 'The server does not accept subscriptions to this resource',
}

export class ChildSession {
  /** The handshake. Rejects with a Fault whose `details.reason` is StartTimeout, CommandNotFound, ExitedAtStart, … */
  readonly ready: Promise<UpstreamInfo>
  /** The child is gone. Never rejects. */
  readonly ended: Promise<ChildExit>
  readonly #spec: SessionSpec
  readonly #deps: SessionDeps
  readonly #rpc: StdioRpc
  readonly #questions: Questions
  readonly #over = new AbortController()
  /** Once hands were shaken. */
  #info: UpstreamInfo | undefined
  /** Ended before its first answer, which may be because it was asked in the newer era. */
  #diedOfProbe = false
  #version = ''
  /** Until the child knows what it asks at its start. */
  #settling: Settling | undefined
  #logLevel: string | undefined
  /** In the newer era, what ends the stream of a resource. */
  readonly #streams = new Map<string, AbortController>()

  /** Starts the child and shakes hands; `ready` tells when and whether calls can be sent. */
  constructor(spec: SessionSpec, deps: SessionDeps) {
    this.#spec = spec
    this.#deps = deps
    this.#rpc = new StdioRpc(spec, deps, {
      notified: notification => this.#heard(notification),
      asked: (request, characters) => this.#asked({ ...request, characters }),
    })
    this.#questions = new Questions({
      capabilities: spec.clientCapabilities ?? {},
      asked: (request, signal) => deps.onRequest?.(request, signal),
      send: reply => this.#rpc.reply(reply),
    })
    this.ended = this.#rpc.ended.then(exit => {
      this.#end(diedFault(exit, this.stderr()))
      return exit
    })
    this.ready = this.#handshake()
    this.ready.catch(() => {})
  }

  /** The child ended as it was asked in the newer era: another one may live if it is asked in the older. */
  get diedOfProbe(): boolean {
    return this.#diedOfProbe
  }

  /** Rejects with Fault upstream_died, upstream_too_large, upstream_protocol, cancelled, or the Fault that `signal` carries. */
  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse> {
    if (this.#spec.shared && isOfSession(call.method))
      return Promise.resolve({ error: ofSession(call.method) })
    if (this.#isModern) return this.#rpc.request(call, signal, envelopeOf(call.caller, this.#version))
    const refused = refusedAnswers(call)
    if (refused) return Promise.resolve(refused)
    const { logLevel, ask } = call.caller
    if (logLevel !== undefined && logLevel !== this.#logLevel) this.#setLogLevel(logLevel)
    if (this.#settling && ask) return this.#requestSettled(this.#settling, call, signal)
    return this.#rpc.request(call, signal)
  }

  /** Updates go to `onNotification`. */
  async subscribe(uri: string, signal: AbortSignal): Promise<McpResponse> {
    if (!this.#isModern) return this.#rpc.request(subscribeCall(uri), signal)
    const end = new AbortController()
    try {
      const answer = await waitFor(this.#listen({ resourceSubscriptions: [uri] }, end.signal), signal)
      if (!answer.error) this.#streams.set(uri, end)
      return answer
    } catch (error) {
      end.abort()
      throw error
    }
  }

  unsubscribe(uri: string): void {
    if (!this.#isModern) void unsubscribe(uri, this.#deps.clock, (call, end) => this.#rpc.request(call, end))
    this.#streams.get(uri)?.abort()
    this.#streams.delete(uri)
  }

  /** Hands the server what its client says besides requests. */
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
    const limit = upstreamDeadline(clock, timeoutMs, late, rpc.hopeless)
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
      // A child that ended has refused nothing; one that refuses may have become another server.
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
    if (!this.#isModern) return this.#initialized()
    const filter = changesFilter(info.capabilities)
    if (Object.keys(filter).length > 0) this.#listen(filter, this.#over.signal).catch(() => {})
  }

  #initialized() {
    const rpc = this.#rpc
    rpc.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    const ping = () =>
      rpc.request({ method: 'ping', caller: OURSELVES, maxBytes: MAX_TAKEN_BYTES }, this.#over.signal)
    if (isObject(this.#spec.clientCapabilities?.roots))
      this.#settling = new Settling({ clock: this.#deps.clock, ping })
  }

  async #requestSettled(settling: Settling, call: UpstreamCall, signal: AbortSignal) {
    await settling.wait(call, signal)
    this.#settling = undefined
    return this.#rpc.request(call, signal)
  }

  #end(why: Fault): void {
    this.#over.abort(why)
    this.#questions.end()
  }

  /** A stream of the newer era, until `signal` aborts; resolves when it is acknowledged or refused. */
  #listen(notifications: JsonObject, signal: AbortSignal): Promise<McpResponse> {
    return new Promise((resolve, reject) => {
      const notify = ({ params }: Notification) => {
        const taken = isObject(params?.notifications) ? Object.keys(params.notifications) : []
        const all = Object.keys(notifications).every(key => taken.includes(key))
        resolve(all ? { result: {} } : { error: NOT_SUBSCRIBED })
      }
      const call = {
        method: LISTEN,
        params: { notifications },
        caller: createCaller({ notify }),
        maxBytes: MAX_TAKEN_BYTES,
      }
      this.request(call, signal).then(resolve, reject)
    })
  }

  /** Ahead of a call: a server that does not log that much yet is told to. */
  #setLogLevel(level: string): void {
    if (this.#spec.shared || !isObject(this.#info?.capabilities.logging)) return
    this.#logLevel = level
    const call = {
      method: 'logging/setLevel',
      params: { level },
      caller: OURSELVES,
      maxBytes: MAX_TAKEN_BYTES,
    }
    this.#rpc.request(call, this.#over.signal).catch(() => {})
  }

  /** The latest call that can ask is most likely the one that a question belongs to. */
  #asked(question: Question) {
    const { id, method } = question
    const inFlight = () => this.#rpc.calls().find(call => call.caller.ask)
    if (!this.#spec.shared || method === 'ping')
      return this.#questions.take(question, inFlight() ?? this.#settling?.asking())
    const message = `${method.slice(0, 100)} is refused: all callers share this server, and nobody knows whom it asks`
    this.#rpc.send({ jsonrpc: '2.0', id, error: { code: METHOD_NOT_FOUND, message } })
  }

  #heard(notification: Notification) {
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
        const call = method === RESOURCE_UPDATED ? undefined : this.#speaking()
        return call ? call.caller.notify?.(notification) : this.#deps.onNotification?.(notification)
      }
    }
  }

  /** The call that a log message or the like belongs to: the latest, or where clients share the child, the only one that it can be. */
  #speaking(): UpstreamCall | undefined {
    const { shared } = this.#spec
    if (shared && !this.#isModern) return undefined
    const hearing = this.#rpc
      .calls()
      .filter(
        call =>
          call.caller.notify && call.method !== LISTEN && (!shared || call.caller.logLevel !== undefined),
      )
    return shared && hearing.length > 1 ? undefined : hearing[0]
  }
}

/** What changes a session for its client alone, or asks for what another call left there. */
function isOfSession(method: string): boolean {
  return method.startsWith('tasks/') || method.startsWith('logging/')
}

function ofSession(method: string): JsonRpcError {
  const message = `${method} wants a session of its own, and this server is shared by all callers`
  return { code: METHOD_NOT_FOUND, message }
}

/** What clients who share a server can use of it. In the newer era each request says itself what is to be logged. */
function withoutSessions({
  capabilities: { logging, tasks: _tasks, ...rest },
  era,
}: UpstreamInfo): JsonObject {
  return era === 'modern' && logging !== undefined ? { ...rest, logging } : rest
}
