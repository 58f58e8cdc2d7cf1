/** Carries out the requests of one script: limits how many run at the same time, counts them, and limits the size of their results. */
import { type Clock, delay } from '../../core/async.ts'
import { isObject, type JsonValue } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { type MadeCall, tokensOf } from './answer-text.ts'
import type { InnerFailure } from './inner-call.ts'
import { type Performing, performRequest, type Reply, refused } from './perform-request.ts'
import { MAX_SLEEPS, OpenRequests, type SandboxReply, type SandboxRequest } from './sandbox-messages.ts'

/** Longer arguments are not read. The sandbox's thread should have refused them. */
const MAX_ARGUMENTS_CHARACTERS = 2 * 1024 * 1024
/** All results of a script together may be this many times as large as the largest single result. */
const RESULTS_IN_ALL = 8
/** Limit of all pauses of a script together. */
const MAX_SLEEP_MS = 5_000

export type ScriptCallsOptions = Performing & {
  clock: Clock
  log: Log
  /** Called after each call. */
  onMade(made: MadeCall): void
}

export class ScriptCalls {
  readonly #options: ScriptCallsOptions
  readonly #slots: Slots
  readonly #busy = new BusyTime()
  readonly #open = new Set<Promise<void>>()
  readonly #requested = new OpenRequests()
  readonly #begunMs = performance.now()
  #requests = 0
  #sleeps = 0
  #sleptMs = 0
  #takenBytes = 0
  #takenTokens = 0
  /** In the order in which they ended. */
  readonly made: MadeCall[] = []
  /** Distinct notes on corrected arguments. */
  readonly notes = new Set<string>()

  constructor(options: ScriptCallsOptions) {
    this.#options = options
    this.#slots = new Slots(options.limits.concurrency)
  }

  /** Estimated tokens of the results that the script got. */
  get takenTokens(): number {
    return this.#takenTokens
  }

  /** The time in which at least one call was in flight. */
  get toolsMs(): number {
    return this.#busy.totalMs
  }

  /** Carries out a request, and remembers it until it is settled. Never rejects, since a rejection that nobody handles would end the process. */
  readonly answer = (request: SandboxRequest): Promise<SandboxReply> => {
    const answered = this.#run(request)
    const tracked: Promise<void> = answered.then(() => void this.#open.delete(tracked))
    this.#open.add(tracked)
    return answered
  }

  /** Waits for the requests in flight. */
  async settled(): Promise<void> {
    await Promise.all(this.#open)
  }

  async #run(request: SandboxRequest): Promise<SandboxReply> {
    const { path, kind } = request
    const { signal } = this.#options.work.request.caller
    const added = this.#requested.add(request)
    if ('refusal' in added)
      return failureReply({ message: `${path} was not called: ${added.refusal}.`, kind: 'too_large' }, path)
    const leave = kind === 'sleep' ? () => {} : await this.#slots.enter()
    const done = this.#busy.begin()
    try {
      if (signal.aborted) return failureReply(OVER, path)
      return this.#written(await this.#carryOut(request), path)
    } catch (error) {
      if (signal.aborted) return failureReply(OVER, path)
      this.#options.log.error({ err: error }, 'a request of a script failed unexpectedly')
      return failureReply(FAILED, path)
    } finally {
      done()
      leave()
      this.#requested.remove(added.bytes)
    }
  }

  async #carryOut({ kind, path, args }: SandboxRequest): Promise<Reply> {
    const { limits, work } = this.#options
    const given = readArgs(args)
    if (kind === 'sleep') return this.#sleep(Number(isObject(given) ? given.ms : 0) || 0)
    if (++this.#requests > limits.calls) return refused(`a script may make ${limits.calls} calls`)
    const arrivedMs = performance.now()
    const reply = await performRequest({ ...this.#options, work: { ...work, arrivedMs } }, kind, path, given)
    for (const note of reply.notes ?? []) this.notes.add(note)
    if (kind === 'discover' || kind === 'keep') return reply
    const { kind: outcome = 'ok', message } = 'failure' in reply ? reply.failure : {}
    const tool = kind === 'read' ? 'read' : (reply.tool ?? path)
    const atMs = arrivedMs - this.#begunMs
    const made = { tool, outcome, atMs, ms: performance.now() - arrivedMs, message }
    this.made.push(made)
    this.#options.onMade(made)
    return reply
  }

  async #sleep(given: number): Promise<Reply> {
    const ms = Math.max(0, given)
    if (++this.#sleeps > MAX_SLEEPS) return refused(`a script may sleep ${MAX_SLEEPS} times`)
    if (this.#sleptMs + ms > MAX_SLEEP_MS)
      return refused(`a script may sleep for ${MAX_SLEEP_MS} ms in total`)
    this.#sleptMs += ms
    await delay(this.#options.clock, ms, this.#options.work.request.caller.signal)
    return { value: undefined }
  }

  #written(reply: Reply, path: string): SandboxReply {
    const tool = reply.tool ?? path
    if ('failure' in reply) return failureReply(this.#limited(reply.failure), tool)
    const json = reply.value === undefined ? undefined : JSON.stringify(reply.value)
    const bytes = json === undefined ? 0 : Buffer.byteLength(json)
    this.#takenBytes += bytes
    this.#takenTokens += tokensOf(json ?? '')
    const most = this.#options.limits.resultBytes
    const isTooMuch = this.#takenBytes > RESULTS_IN_ALL * most
    if (bytes <= most && !isTooMuch) return { isValue: true, ...(json !== undefined && { json }) }
    const message = isTooMuch
      ? `The results of this script, with that of ${tool}, are larger than ${RESULTS_IN_ALL * most} bytes. The call is done.`
      : `The result of ${tool} has ${bytes} bytes, and a script takes ${most}: ask for less. The call is done.`
    return failureReply({ message, kind: 'too_large' }, tool)
  }

  /** The result of a failed call has the limits of other results. Above them it is left out, and does not count. */
  #limited({ message, kind, result }: InnerFailure): InnerFailure {
    if (result === undefined) return { message, kind }
    const bytes = Buffer.byteLength(JSON.stringify(result))
    const most = this.#options.limits.resultBytes
    if (bytes > most || this.#takenBytes + bytes > RESULTS_IN_ALL * most) return { message, kind }
    this.#takenBytes += bytes
    return { message, kind, result }
  }
}

const OVER: InnerFailure = { message: 'The script has ended.', kind: 'cancelled' }
const FAILED: InnerFailure = { message: 'The gateway failed unexpectedly.', kind: 'unavailable' }

function readArgs(text: string): JsonValue {
  if (text.length > MAX_ARGUMENTS_CHARACTERS) return null
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function failureReply({ message, kind, result }: InnerFailure, tool: string): SandboxReply {
  return { isValue: false, json: JSON.stringify({ message, kind, tool, result }) }
}

/** Limits how many requests run at the same time; the others wait in order. */
class Slots {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(most: number) {
    this.#free = most
  }

  /** Resolves with the function that gives the slot back. */
  async enter(): Promise<() => void> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    return () => {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free++
    }
  }
}

/** Measures how long at least one request was running. */
class BusyTime {
  #active = 0
  #since = 0
  totalMs = 0

  begin(): () => void {
    if (this.#active++ === 0) this.#since = performance.now()
    return () => {
      if (--this.#active === 0) this.totalMs += performance.now() - this.#since
    }
  }
}
