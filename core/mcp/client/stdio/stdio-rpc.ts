/** JSON-RPC with one child: numbers requests, finds their answers, and tolerates output that is not JSON-RPC. */
import type { Clock } from '../../../async.ts'
import { faultOf, waitFor } from '../../../deadline.ts'
import { Fault } from '../../../errors.ts'
import type { JsonObject, JsonValue } from '../../../json.ts'
import { MAX_VALUES } from '../../../parse-json.ts'
import { INVALID_REQUEST } from '../../protocol/error-codes.ts'
import type { McpResponse, Notification } from '../../protocol/json-rpc.ts'
import { type Incoming, LISTEN, ownId, requestText } from '../../protocol/message.ts'
import type { UpstreamCall } from '../../upstream.ts'
import { CallsInFlight, type Listed } from '../calls-in-flight.ts'
import { Child, type ChildExit, type ChildSpec } from './child.ts'
import { LineReader, type SkippedLine, skippedLine } from './framing.ts'
import { harmless, secretLines } from './harmless.ts'
import { idAround, idInHead, isAsking, readLine } from './read-line.ts'
import type { Reaper } from './reaper.ts'
import { diedFault, stoppedFault, tooLargeFault, unreadableFault } from './session-faults.ts'

/** How a server is started. */
export type CommandSpec = ChildSpec & {
  /** Values of the environment or the arguments that must not appear in logs and messages. */
  secrets?: readonly string[]
  startTimeoutMs: number
}

/** A question of the server to its client. */
export type ChildRequest = { id: JsonValue; method: string; params?: JsonObject }

/** The used part of a pino logger. */
export type StdioLog = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export type StdioRpcDeps = {
  clock: Clock
  /** Ends children if this process is killed. */
  reaper?: Reaper
  log?: StdioLog
}

/** `characters`: an upper bound for the length of the line, which is its size in bytes. */
export type StdioRpcListener = {
  notified(notification: Notification): void
  asked(request: ChildRequest, characters: number): void
}

type Pending = Listed & { resolve(answer: McpResponse): void; reject(fault: Fault): void }

/** The largest acknowledgement, or other short answer, to a request of our own. */
export const MAX_ACK_BYTES = 256 * 1024
/** The largest notification or question of a server. */
const MAX_ASKING_BYTES = 4 * 1024 * 1024
/** After this many lines that are not JSON-RPC, the handshake fails; after the handshake, reading pauses. */
const MAX_GARBAGE_LINES = 1_000
const GARBAGE_PAUSE_MS = 250
const EXCERPT_CHARACTERS = 120
const CARRIAGE_RETURN = 13
/** Handshakes are not cancelled: no protocol is agreed on yet. */
const HANDSHAKES: ReadonlySet<string> = new Set(['initialize', 'server/discover'])

export class StdioRpc {
  /** Resolves when the child has exited. Never rejects. */
  readonly ended: Promise<ChildExit>
  readonly #deps: StdioRpcDeps
  readonly #listener: StdioRpcListener
  readonly #secrets: readonly string[]
  readonly #child: Child
  readonly #pending = new CallsInFlight<Pending>()
  /** Aborts when the output shows, before the start timeout, that the child is not an MCP server. */
  readonly #notMcp = new AbortController()
  #nextId = 1
  #garbage = { lines: 0, first: '' }
  /** Why requests can no longer be sent. */
  #over: Fault | undefined

  /** Starts the child. */
  constructor(spec: CommandSpec, deps: StdioRpcDeps, listener: StdioRpcListener) {
    const { clock, reaper, log } = deps
    this.#deps = deps
    this.#listener = listener
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
  }

  /** Why requests can no longer be sent; undefined while they can. */
  get over(): Fault | undefined {
    return this.#over
  }

  /** Lines that were not JSON-RPC. */
  get garbage(): Readonly<{ lines: number; first: string }> {
    return this.#garbage
  }

  /** Aborts when the child has written so many other lines that it is not an MCP server. */
  get notMcp(): AbortSignal {
    return this.#notMcp.signal
  }

  /**
   * Resolves with the answer. `envelope` goes into `_meta`. Rejects with Fault upstream_died, upstream_too_large, upstream_protocol,
   * cancelled, or the Fault that `signal` carries.
   */
  async request(call: UpstreamCall, signal: AbortSignal, envelope?: JsonObject): Promise<McpResponse> {
    while (this.#child.blocked && !this.#over) await waitFor(this.#child.drained(), signal)
    if (this.#over) throw this.#over
    if (signal.aborted) throw faultOf(signal)
    const id = this.#nextId++
    const text = requestText(id, call, envelope)
    return new Promise((resolve, reject) => {
      const cancel = () => {
        if (!HANDSHAKES.has(call.method)) this.send(cancellation(id))
        pending.reject(faultOf(signal))
      }
      const settle = () => {
        this.#pending.remove(pending)
        signal.removeEventListener('abort', cancel)
      }
      const pending: Pending = {
        id,
        call,
        place: 0,
        resolve(answer) {
          settle()
          resolve(answer)
        },
        reject(fault) {
          settle()
          reject(fault)
        },
      }
      signal.addEventListener('abort', cancel)
      this.#pending.add(pending)
      this.#child.write(`${text}\n`)
      call.onSent?.()
    })
  }

  /** Sends a best-effort message; dropped while the child does not read. */
  send(message: object): void {
    if (!this.#child.blocked) this.#child.write(`${JSON.stringify(message)}\n`)
  }

  /** Sends a reply to the child: at once, or when it reads again. */
  reply(message: object): Promise<unknown> | undefined {
    const write = () => this.#child.write(`${JSON.stringify(message)}\n`)
    if (this.#child.blocked) return this.#child.drained().then(write)
    write()
    return undefined
  }

  /** The call in flight with this id, also if the id comes back as a string. */
  callOf(id: JsonValue | undefined): UpstreamCall | undefined {
    return this.#waiting(ownId(id))?.call
  }

  /** The calls in flight, the latest first. */
  calls(): UpstreamCall[] {
    return this.#pending.values().reverse()
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

  #end(why: Fault): void {
    this.#over ??= why
    for (const waiting of this.#pending.toArray()) waiting.reject(this.#over)
  }

  #onLine(line: Buffer) {
    if (line.length === 0 || (line.length === 1 && line[0] === CARRIAGE_RETURN)) return
    const text = line.toString()
    let messages: Incoming[] | undefined
    try {
      messages = readLine(text)
    } catch (error) {
      if (error instanceof Fault) return this.#onSkipped(skippedLine(line), error)
      throw error
    }
    if (!messages) return this.#onUnreadable(text)
    for (const message of messages) this.#onMessage(message, line.length)
  }

  #onMessage(message: Incoming, bytes: number) {
    if (message.kind === 'request') return this.#listener.asked(message, bytes)
    if (message.kind === 'notification') return this.#listener.notified(message.notification)
    const { id, answer } = message
    const waiting = id === null && answer.error ? this.#handshake() : this.#waiting(ownId(id))
    if (!waiting) return // cancelled, answered twice, or unknown
    if (bytes > waiting.call.maxBytes) return waiting.reject(tooLargeFault(waiting.call.maxBytes))
    waiting.resolve(answer)
  }

  /** During the handshake, an error without an id answers it: some servers reply like this to unknown methods. */
  #handshake(): Pending | undefined {
    return this.#pending.find(({ call }) => HANDSHAKES.has(call.method))
  }

  #onUnreadable(text: string) {
    if (text.trim() === '') return
    const id = idAround(text.slice(0, EXCERPT_CHARACTERS), text.slice(-EXCERPT_CHARACTERS))
    const waiting = this.#waiting(id)
    if (waiting) return waiting.reject(unreadableFault())
    const garbage = this.#garbage
    garbage.lines++
    garbage.first ||= harmless(text.slice(0, 8 * EXCERPT_CHARACTERS), this.#secrets).slice(
      0,
      EXCERPT_CHARACTERS,
    )
    // Logs only the 1st, 10th, 100th, … line.
    if (Number.isInteger(Math.log10(garbage.lines)))
      this.#deps.log?.warn({ ...garbage }, 'server writes lines to standard output that are not JSON-RPC')
    if (garbage.lines === MAX_GARBAGE_LINES) this.#notMcp.abort()
    if (garbage.lines % MAX_GARBAGE_LINES === 0) this.#child.pauseReading(GARBAGE_PAUSE_MS)
  }

  /** The limit of the call that a line answers, if its beginning has the id; else the largest limit in flight. */
  #limitOf(head: Buffer): number {
    const text = head.toString('latin1')
    if (isAsking(text)) return MAX_ASKING_BYTES
    const waiting = this.#waiting(idInHead(text))
    if (waiting) return waiting.call.maxBytes
    return Math.max(0, ...this.#pending.toArray().map(({ call }) => call.maxBytes))
  }

  /** `fault`: why; absent: the line is too long. */
  #onSkipped({ head, tail, bytes }: SkippedLine, fault?: Fault) {
    const start = head.toString('latin1')
    const id = idAround(start, tail.toString('latin1'))
    if (isAsking(start)) this.#refuse(id)
    const waiting = isAsking(start) ? undefined : id === undefined ? this.#onlyOne() : this.#waiting(id)
    if (waiting) waiting.reject(fault ?? tooLargeFault(waiting.call.maxBytes))
    else this.#deps.log?.warn({ bytes }, 'server wrote a line that is too large; skipped')
  }

  /** Refuses a question that is too large; otherwise the server could wait forever. */
  #refuse(id: number | undefined) {
    if (id === undefined) return
    const message = `The question has more than ${MAX_ASKING_BYTES} bytes or ${MAX_VALUES} values`
    void this.reply({ jsonrpc: '2.0', id, error: { code: INVALID_REQUEST, message } })
  }

  #waiting(id: number | undefined): Pending | undefined {
    return id === undefined ? undefined : this.#pending.withId(id)
  }

  /** The call in flight, if only one waits for an answer. */
  #onlyOne(): Pending | undefined {
    const answered = this.#pending.toArray().filter(({ call }) => call.method !== LISTEN)
    return answered.length === 1 ? answered[0] : undefined
  }
}

function cancellation(requestId: number) {
  const params = { requestId, reason: 'The caller does not wait any longer' }
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params }
}
