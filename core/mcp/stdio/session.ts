/** One child and the MCP session with it: the handshake, calls and their answers, and what the server says by itself. */
import type { Clock } from '../../async.ts'
import type { Fault } from '../../errors.ts'
import type { JsonObject, JsonValue } from '../../json.ts'
import { deadline, faultOf, waitFor } from '../deadline.ts'
import { initialize } from '../handshake.ts'
import { changedList, type Incoming, replyMessage, requestMessage, withCallersToken } from '../message.ts'
import type { Notification, UpstreamAnswer, UpstreamCall, UpstreamInfo } from '../upstream.ts'
import { Child, type ChildExit, type ChildSpec } from './child.ts'
import { LineReader, type SkippedLine } from './framing.ts'
import { harmless, secretLines } from './harmless.ts'
import { idInHead, idInTail, isAsking, ownId, readLine } from './message.ts'
import type { Reaper } from './reaper.ts'
import { diedFault, startFault, stoppedFault, tooLargeFault, unreadableFault } from './session-faults.ts'

export type SessionSpec = ChildSpec & {
  /** Values of the environment or the arguments that must not be seen in logs and messages. */
  secrets?: readonly string[]
  startTimeoutMs: number
  /** What the server may ask its client for; default nothing. */
  clientCapabilities?: JsonObject
}

/** A request of the server to its client. */
export type Asked = { id: JsonValue; method: string; params?: JsonObject }

/** The part of a pino logger that is used. */
export type StdioLog = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export type SessionDeps = {
  clock: Clock
  /** Ends children where this process is killed. */
  reaper?: Reaper
  log?: StdioLog
  onListChanged: (list: 'tools' | 'resources' | 'prompts') => void
  /** What the server says besides that and the progress of calls: log messages, updates of resources. */
  onNotification?: (notification: Notification) => void
  /** The server asks its client for something; false: nobody can answer. The answer is sent by `tell`. */
  onRequest?: (request: Asked) => boolean
}

type Pending = { call: UpstreamCall; resolve(answer: UpstreamAnswer): void; reject(fault: Fault): void }

/** The largest notification or request of a server. */
const MAX_ASKING_BYTES = 1024 * 1024
/** So many lines that are not JSON-RPC before the handshake's answer: this is no MCP server. Later: it has to wait a bit. */
const MUCH_GARBAGE = 1_000
const GARBAGE_REST_MS = 250
const EXCERPT_CHARACTERS = 120

export class Session {
  /** The handshake. Rejects with a Fault whose `details.reason` is StartTimeout, CommandNotFound, ExitedAtStart, … */
  readonly ready: Promise<UpstreamInfo>
  /** The child is gone. Never rejects. */
  readonly ended: Promise<ChildExit>
  readonly #deps: SessionDeps
  readonly #secrets: readonly string[]
  readonly #child: Child
  readonly #pending = new Map<number, Pending>()
  /** Aborts where it shows before the time is up that there is no MCP server. */
  readonly #hopeless = new AbortController()
  #nextId = 1
  #garbage = { lines: 0, first: '' }
  /** Why nothing can be asked any more. */
  #over: Fault | undefined

  /** Starts the child and shakes hands; `ready` tells when and whether calls can be sent. */
  constructor(spec: SessionSpec, deps: SessionDeps) {
    const { clock, reaper, log } = deps
    this.#deps = deps
    this.#secrets = secretLines(spec.secrets ?? [])
    const reader = new LineReader({
      maxBytes: head => this.#limitOf(head),
      onLine: line => this.#onLine(line),
      onSkipped: line => this.#onSkipped(line),
    })
    this.#child = new Child(spec, {
      clock,
      reaper,
      secrets: this.#secrets,
      onData: chunk => reader.push(chunk),
      onStderr: (stderr, left) =>
        log?.info({ stderr, ...(left > 0 ? { left } : {}) }, 'server wrote to stderr'),
    })
    this.ended = this.#child.exited.then(exit => {
      reader.end()
      this.#end(diedFault(exit, this.#child.stderr()))
      return exit
    })
    this.ready = this.#handshake(spec)
    this.ready.catch(() => {})
  }

  /** Rejects with Fault upstream_died, upstream_too_large, upstream_protocol, cancelled, or the Fault that `signal` carries. */
  async request(call: UpstreamCall, signal: AbortSignal): Promise<UpstreamAnswer> {
    while (this.#child.blocked && !this.#over)
      await waitFor(Promise.race([this.#child.drained().catch(() => this.ended), this.ended]), signal)
    if (this.#over) throw this.#over
    if (signal.aborted) throw faultOf(signal)
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      const cancel = () => {
        this.#pending.delete(id)
        if (call.method !== 'initialize') this.#send(cancellation(id))
        reject(faultOf(signal))
      }
      signal.addEventListener('abort', cancel, { once: true })
      const settle = () => {
        this.#pending.delete(id)
        signal.removeEventListener('abort', cancel)
      }
      this.#pending.set(id, {
        call,
        resolve(answer) {
          settle()
          resolve(answer)
        },
        reject(fault) {
          settle()
          reject(fault)
        },
      })
      this.#child.write(`${JSON.stringify(requestMessage(id, call.method, call.params))}\n`)
      call.onSent?.()
    })
  }

  /** Sends what nobody waits for: a notification, or the answer to a request of the server. */
  tell(message: JsonObject): void {
    this.#send(message)
  }

  /** The last lines of the child's standard error, without secrets. */
  stderr(): string[] {
    return this.#child.stderr()
  }

  /** Rejects calls in flight and ends the child. */
  stop(): Promise<void> {
    this.#end(stoppedFault())
    return this.#child.stop()
  }

  async #handshake({ startTimeoutMs: timeoutMs, clientCapabilities }: SessionSpec): Promise<UpstreamInfo> {
    const seconds = timeoutMs / 1000
    const limit = deadline(
      this.#deps.clock,
      timeoutMs,
      `The server did not start within ${seconds} s`,
      this.#hopeless.signal,
    )
    try {
      const ask = (call: UpstreamCall, signal: AbortSignal) => this.request(call, signal)
      const info = await initialize(ask, limit.signal, clientCapabilities)
      this.#send({ jsonrpc: '2.0', method: 'notifications/initialized' })
      return info
    } catch (error) {
      const exit = this.#over ? await this.ended : undefined
      throw startFault(error, { exit, garbage: this.#garbage, stderr: this.stderr() })
    } finally {
      limit.clear()
    }
  }

  #end(why: Fault): void {
    this.#over ??= why
    for (const waiting of [...this.#pending.values()]) waiting.reject(this.#over)
  }

  /** Sends what nobody waits for, unless the child does not read. */
  #send(message: object): void {
    if (!this.#child.blocked) this.#child.write(`${JSON.stringify(message)}\n`)
  }

  #onLine(line: Buffer) {
    if (line.length === 0 || (line.length === 1 && line[0] === CARRIAGE_RETURN)) return
    const text = line.toString()
    const messages = readLine(text)
    if (!messages) return this.#onUnreadable(text)
    for (const message of messages) this.#onMessage(message, line.length)
  }

  #onMessage(message: Incoming, bytes: number) {
    if (message.kind === 'request') return this.#onRequest(message)
    if (message.kind === 'notification') return this.#onNotification(message.notification)
    const waiting = this.#waiting(ownId(message.id))
    if (!waiting) return // cancelled meanwhile, answered twice, or never asked
    if (bytes > waiting.call.maxBytes) return waiting.reject(tooLargeFault(waiting.call.maxBytes))
    waiting.resolve(message.answer)
  }

  #onRequest({ id, method, params }: Asked) {
    if (!this.#deps.onRequest?.({ id, method, params })) this.#send(replyMessage({ id, method }))
  }

  #onNotification(notification: Notification) {
    const list = changedList(notification.method)
    if (list) return this.#deps.onListChanged(list)
    if (notification.method !== 'notifications/progress') return this.#deps.onNotification?.(notification)
    const call = this.#waiting(ownId(notification.params?.progressToken))?.call
    call?.onNotification?.(withCallersToken(notification, call))
  }

  #onUnreadable(text: string) {
    if (text.trim() === '') return
    const id = idInHead(text.slice(0, EXCERPT_CHARACTERS)) ?? idInTail(text.slice(-EXCERPT_CHARACTERS))
    const waiting = this.#waiting(id)
    if (waiting) return waiting.reject(unreadableFault())
    const garbage = this.#garbage
    garbage.lines++
    garbage.first ||= harmless(text.slice(0, 8 * EXCERPT_CHARACTERS), this.#secrets).slice(
      0,
      EXCERPT_CHARACTERS,
    )
    // The 1st, 10th, 100th, …: seldom enough.
    if (Number.isInteger(Math.log10(garbage.lines)))
      this.#deps.log?.warn({ ...garbage }, 'server writes lines to standard output that are not JSON-RPC')
    if (garbage.lines === MUCH_GARBAGE) this.#hopeless.abort()
    if (garbage.lines % MUCH_GARBAGE === 0) this.#child.rest(GARBAGE_REST_MS)
  }

  /** The limit of the call that a line answers, where its beginning tells which; else the largest of those in flight. */
  #limitOf(head: Buffer): number {
    const text = head.toString('latin1')
    const waiting = this.#waiting(idInHead(text))
    if (waiting) return waiting.call.maxBytes
    if (isAsking(text)) return MAX_ASKING_BYTES
    return Math.max(0, ...[...this.#pending.values()].map(({ call }) => call.maxBytes))
  }

  #onSkipped({ head, tail, bytes }: SkippedLine) {
    const start = head.toString('latin1')
    const id = idInHead(start) ?? idInTail(tail.toString('latin1'))
    const waiting = this.#waiting(id) ?? (id === undefined && !isAsking(start) ? this.#onlyOne() : undefined)
    if (waiting) waiting.reject(tooLargeFault(waiting.call.maxBytes))
    else this.#deps.log?.warn({ bytes }, 'server wrote a line that is too long; it was left out')
  }

  #waiting(id: number | undefined): Pending | undefined {
    return id === undefined ? undefined : this.#pending.get(id)
  }

  #onlyOne(): Pending | undefined {
    return this.#pending.size === 1 ? this.#pending.values().next().value : undefined
  }
}

const CARRIAGE_RETURN = 13

function cancellation(requestId: number) {
  const params = { requestId, reason: 'The caller does not wait any longer' }
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params }
}
