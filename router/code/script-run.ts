/** One run of a script: the context of its calls, its time limit, its answer and its record. */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import type { CodeConfig } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { Ask } from '../../core/mcp/caller.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import { answerInputRounds } from '../../core/mcp/server/input-rounds.ts'
import type { Work } from '../meta/meta-tool.ts'
import type { ScriptOutcome } from '../observer.ts'
import { CallLimit } from '../upstream/call-limit.ts'
import { counted } from './answer-text.ts'
import { isMemoryError, seconds } from './failure-text.ts'
import { createPermit } from './permission.ts'
import type { SandboxOutcome } from './sandbox-messages.ts'
import type { Sandboxes, SandboxReport } from './sandbox-threads.ts'
import { answerOf } from './script-answer.ts'
import { ScriptCalls } from './script-calls.ts'
import type { Place } from './script-gate.ts'

/** `reviewed`: absent for a script that the agent wrote. */
export type GivenScript = {
  source: string
  input: JsonValue | undefined
  reviewed?: { name: string; readOnly: boolean }
}

export type ScriptDependencies = { clock: Clock; log: Log }

const LOG_CHARACTERS = 16 * 1024
const ARGUMENT_BYTES = 1024 * 1024
const TRACE_FIELDS = ['traceparent', 'tracestate', 'baggage']

/** The context of a script's calls: that of the script, without what belongs to its own request (progress token, task, arguments). */
function innerWork(
  work: Work,
  script: { id: string; reviewed: boolean },
  signal: AbortSignal,
  ask: Ask | undefined,
): Work {
  const { request } = work
  const attributes = { 'portolan.script': script.id }
  const span = work.span?.begin({ name: 'run script', kind: 'internal', attributes })
  const caller = { ...request.caller, signal, ask }
  const params = traceOf(request.params)
  return {
    ...work,
    script: script.id,
    reviewed: script.reviewed,
    span,
    request: { ...request, method: 'tools/call', text: undefined, params, caller },
  }
}

function traceOf({ _meta: meta }: JsonObject): JsonObject {
  if (!isObject(meta)) return {}
  const kept = TRACE_FIELDS.flatMap(name => (meta[name] === undefined ? [] : [[name, meta[name]] as const]))
  return kept.length === 0 ? {} : { _meta: Object.fromEntries(kept) }
}

/** One script from its start to its answer. */
export class ScriptRun {
  readonly #id = randomUUID()
  /** The context of its calls. */
  readonly #work: Work
  readonly #progressToken: JsonValue | undefined
  readonly #code: CodeConfig
  readonly #place: Place
  readonly #clock: Clock
  readonly #log: Log
  readonly #given: GivenScript
  /** Id of the script that called this one. */
  readonly #parent: string | undefined
  readonly #limit: CallLimit
  readonly #startedMs = performance.now()
  #questions = 0
  #askedSinceMs = 0
  #askedMs = 0

  constructor(
    work: Work,
    code: CodeConfig,
    place: Place,
    given: GivenScript,
    { clock, log }: ScriptDependencies,
  ) {
    const { caller } = work.request
    this.#code = code
    this.#place = place
    this.#clock = clock
    this.#log = log
    this.#given = given
    this.#parent = work.script
    this.#limit = new CallLimit(clock, code.limits.timeoutMs, caller.signal)
    this.#work = innerWork(
      work,
      { id: this.#id, reviewed: given.reviewed !== undefined },
      this.#limit.signal,
      caller.ask && this.#asking(caller.ask),
    )
    const { _meta: meta } = work.request.params
    this.#progressToken = isObject(meta) ? meta.progressToken : undefined
    work.observer.scriptBegan()
  }

  /** Rejects only with the Fault of a caller who has gone or cancelled. `input`: JSON. */
  async run(sandboxes: Sandboxes, input: string | undefined): Promise<McpResponse> {
    const { limits } = this.#code
    const { source } = this.#given
    const calls = this.#createCalls()
    const report = await sandboxes.run({
      source,
      ...(input !== undefined && { input }),
      limits: {
        sandboxMs: limits.sandboxMs,
        memoryBytes: limits.memoryBytes,
        calls: limits.calls,
        resultBytes: limits.resultBytes,
        argumentBytes: ARGUMENT_BYTES,
        logCharacters: LOG_CHARACTERS,
      },
      answer: calls.answer,
      signal: this.#limit.signal,
    })
    // Calls that the script does not await have effects too, so the answer reports them.
    await calls.settled()
    const why = this.#limit.signal.aborted ? this.#whyEnded() : ''
    const isInner = this.#parent !== undefined
    const end = { report, source, calls, id: this.#id, why, isInner }
    const answered = answerOf(this.#work, this.#code, end)
    this.#record(report, calls, answered.tokens)
    if (report.outcome.kind === 'aborted') this.#throwIfGone()
    return { result: answered.result }
  }

  /** Frees the script's place. Call it once, after `run`. */
  end(): void {
    this.#limit.end()
    this.#place.leave()
    this.#work.span?.end()
  }

  #createCalls(): ScriptCalls {
    const work = this.#work
    const { caller } = work.request
    let done = 0
    return new ScriptCalls({
      work,
      code: this.#code,
      limits: this.#code.limits,
      clock: this.#clock,
      log: this.#log,
      permit: createPermit(this.#code, caller),
      answerRounds: (inner, first, again) => this.#answerRounds(inner, first, again),
      onMade: ({ tool }) => this.#tellProgress(++done, tool),
    })
  }

  /** A server of the 2026 era asks by its result: asks the caller, of either era, and repeats the call with the answers. */
  #answerRounds(inner: Work, first: JsonObject, again: (work: Work) => Promise<McpResponse>) {
    const handler = {
      handle: (request: Work['request']) => again({ ...inner, request }),
    } as Parameters<typeof answerInputRounds>[0]
    return answerInputRounds(handler, inner.request, first, this.#clock)
  }

  /** While a question waits for its answer, the script's timeout does not run, and another script may use its place. */
  #asking(ask: Ask): Ask {
    return async (request, signal) => {
      if (!this.#place.beginAsking())
        return { error: { code: -32_603, message: 'Too many scripts wait for people at the moment' } }
      if (this.#questions++ === 0) {
        this.#askedSinceMs = performance.now()
        this.#limit.pause()
      }
      try {
        return await ask(request, signal)
      } finally {
        this.#place.endAsking()
        if (--this.#questions === 0) {
          this.#askedMs += performance.now() - this.#askedSinceMs
          if (!this.#limit.signal.aborted) this.#limit.resume()
        }
      }
    }
  }

  /** Progress keeps clients with a timeout of their own waiting. */
  #tellProgress(done: number, tool: string): void {
    const progressToken = this.#progressToken
    if (progressToken === undefined) return
    const params = { progressToken, progress: done, message: `${counted(done, 'call')}, the last: ${tool}` }
    this.#work.request.caller.notify?.({ method: 'notifications/progress', params })
  }

  #whyEnded(): string {
    const { reason } = this.#limit.signal
    if (reason instanceof Fault && reason.code === 'upstream_timeout')
      return `The script took longer than ${seconds(this.#code.limits.timeoutMs)}: do less in one script.`
    return 'The script was cancelled.'
  }

  #throwIfGone(): void {
    const { reason } = this.#limit.signal
    if (reason instanceof Fault && reason.code !== 'upstream_timeout') throw reason
  }

  #record(report: SandboxReport, calls: ScriptCalls, returnedTokens: number): void {
    const { observer, request } = this.#work
    const { source, reviewed } = this.#given
    observer.scriptRan({
      id: this.#id,
      reviewed: reviewed?.name,
      parent: this.#parent,
      outcome: this.#outcomeOf(report.outcome),
      calls: calls.made.length,
      sandboxMs: report.sandboxMs,
      toolsMs: calls.toolsMs,
      askedMs: this.#askedMs,
      totalMs: performance.now() - this.#startedMs,
      keptTokens: calls.takenTokens - returnedTokens,
      source,
      client: request.caller.label,
      by: this.#work,
    })
  }

  #outcomeOf(outcome: SandboxOutcome): ScriptOutcome {
    switch (outcome.kind) {
      case 'returned':
        return 'ok'
      case 'threw':
        return isMemoryError(outcome.error) ? 'memory' : 'error'
      case 'stuck':
        return 'error'
      case 'time':
        return 'timeout'
      case 'aborted': {
        const { reason } = this.#limit.signal
        return reason instanceof Fault && reason.code === 'upstream_timeout' ? 'timeout' : 'cancelled'
      }
      default:
        return outcome.kind
    }
  }
}
