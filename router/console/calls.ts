/** Keeps the last calls of a router. Arguments and results are stored separately, and only if the manifests allow it. */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { SCRIPTS } from '../../core/catalog/router-config.ts'
import type { ConsoleCall, ConsolePayload } from '../../core/console/shapes.ts'
import { cut } from '../../core/cut.ts'
import { Fault } from '../../core/errors.ts'
import { estimateTokens } from '../catalog/estimate.ts'
import { PROFILES } from '../meta/profiles/profiles.ts'
import type { CallRecord, RecordedRequest, ScriptRecord } from '../observer.ts'

const MAX_CALLS = 1_000
/** Tokens are estimated from the beginning of a text: a long one takes too long. */
const READ_CHARACTERS = 2_048
/** Limit of reviewed scripts whose call is not recorded yet. It is recorded in the same turn of the event loop. */
const MAX_RUNS = 100
const MAX_REASON_CHARACTERS = 400
const MAX_NAME_CHARACTERS = 100
const MAX_PAYLOAD_CHARACTERS = 16_384
/** The names of meta-tools as strings of our source: a name taken from a request would keep the text of the request in memory. */
const META_TOOLS = new Map<unknown, string>(
  Object.values(PROFILES).flatMap(({ tools }) => [...tools.keys()].map(name => [name, name])),
)
const WITHHELD =
  'Arguments and results are not recorded: spec.logging.payloads of the server and spec.audit.payloads of the gateway must both allow it.'

/** `by`: the id of the caller's identity; `payload`: JSON, empty if it is too long. */
export type KeptCall = { call: ConsoleCall; by: string; payload?: string }

export type Calls = {
  /** Identifies this run of the gateway. The next run numbers its calls from the start. */
  readonly run: string
  called(record: CallRecord): void
  searched(ms: number, hits: number, by: RecordedRequest): void
  scriptRan(record: ScriptRecord): void
  /** The call with a number, if it is still kept. */
  numbered(seq: number): KeptCall | undefined
  /** The kept calls with a greater number, oldest first. */
  after(seq: number): KeptCall[]
  /** Returns the function that removes the listener. */
  onCall(listener: (kept: KeptCall) => void): () => void
}

export function createCalls(clock: Clock): Calls {
  /** A ring: call number n is at (n - 1) % MAX_CALLS. */
  const kept: KeptCall[] = []
  const listeners = new Set<(kept: KeptCall) => void>()
  const runs = createRuns()
  let seq = 0
  const keep = (by: RecordedRequest, done: Done, payload?: string): void => {
    const at = seq++ % MAX_CALLS
    kept[at] ??= { call: {} as ConsoleCall, by: '' }
    const one = kept[at]
    one.by = by.request.caller.identity.id
    one.payload = payload
    overwrite(one.call, seq, clock.now(), by, done)
    for (const listener of listeners) listener(copyOf(one))
  }
  return {
    run: randomUUID(),
    called(record) {
      const { server, tool, outcome, totalMs, upstreamMs, script, payload } = record
      const ran = server === SCRIPTS ? runs.take(tool, script) : undefined
      const tokens = tokensOf(record)
      const why = whyOf(record)
      const done = { server, tool, outcome, totalMs, upstreamMs, script, ran, tokens, why }
      keep(record.by, done, payload && textOf(payload))
    },
    searched: (ms, hits, by) => keep(by, { outcome: 'ok', totalMs: ms, upstreamMs: 0, hits }),
    scriptRan({ id, reviewed, parent, outcome, calls, toolsMs, totalMs, keptTokens, by }) {
      const ran = { id, calls, keptTokens }
      if (reviewed === undefined) keep(by, { outcome, totalMs, upstreamMs: toolsMs, ran })
      else runs.add(reviewed, parent, ran)
    },
    numbered(number) {
      const one = kept[(number - 1) % MAX_CALLS]
      return one?.call.seq === number ? copyOf(one) : undefined
    },
    after(from) {
      const oldest = seq % MAX_CALLS
      return [...kept.slice(oldest), ...kept.slice(0, oldest)]
        .filter(({ call }) => call.seq > from)
        .map(copyOf)
    },
    onCall(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** What is recorded of a call besides the request of its agent. */
type Done = Omit<ConsoleCall, 'router' | 'seq' | 'at' | 'method' | 'meta' | 'client' | 'session' | 'caller'>

/**
 * Sets every member, since it overwrites an older call. New objects that are kept for a thousand calls would be moved to V8's old
 * generation and collected there: every call would take a tenth more CPU time.
 */
function overwrite(
  call: ConsoleCall,
  seq: number,
  at: number,
  { request: { method, params, caller } }: RecordedRequest,
  done: Done,
): void {
  const { label } = caller
  call.seq = seq
  call.at = at
  call.method = method
  call.meta = META_TOOLS.get(params?.name)
  call.client = label?.name
  call.session = label?.session
  call.caller = label?.caller
  call.server = done.server
  call.tool = done.tool
  call.outcome = done.outcome
  call.totalMs = done.totalMs
  call.upstreamMs = done.upstreamMs
  call.tokens = done.tokens
  call.hits = done.hits
  call.script = done.script
  call.ran = done.ran
  call.why = done.why
}

/** A copy, since the kept call will be overwritten. */
function copyOf({ call, by, payload }: KeptCall): KeptCall {
  return { call: { ...call }, by, payload }
}

type Ran = NonNullable<ConsoleCall['ran']>

/** A reviewed script is recorded when it ends, and right after that as the tool that was called: this joins both to one call. */
function createRuns() {
  const runs = new BoundedMap<readonly Ran[]>(MAX_RUNS)
  const keyOf = (name = '', parent = '') => `${parent} ${name}`
  return {
    add(name: string, parent: string | undefined, ran: Ran): void {
      const key = keyOf(name, parent)
      runs.set(key, [...(runs.get(key) ?? []), ran].slice(-MAX_RUNS))
    },
    take(name: string | undefined, parent: string | undefined): Ran | undefined {
      const key = keyOf(name, parent)
      const [ran, ...others] = runs.get(key) ?? []
      if (others.length > 0) runs.set(key, others)
      else runs.delete(key)
      return ran
    },
  }
}

/** Whether a caller made a call. Anonymous callers share the empty id, and do not see each other's. */
export function isOwn({ by }: KeptCall, id: string): boolean {
  return id !== '' && by === id
}

/** The arguments and the result of a call, or why they are not shown. */
export function payloadOf({ payload }: KeptCall): ConsolePayload {
  if (payload === undefined) return { withheld: WITHHELD }
  if (payload === '') return { withheld: `It is longer than ${MAX_PAYLOAD_CHARACTERS} characters.` }
  return JSON.parse(payload)
}

/** A payload as JSON; empty if it is too long. */
function textOf(payload: NonNullable<CallRecord['payload']>): string {
  const text = JSON.stringify(payload)
  return text.length > MAX_PAYLOAD_CHARACTERS ? '' : text
}

/** The estimated tokens of the result; undefined if there is none. */
function tokensOf({ sent }: CallRecord): number | undefined {
  const text = sent && !(sent.answer instanceof Fault) && sent.answer.result && sent.answer.resultText
  if (!text) return undefined
  const head = text.slice(0, READ_CHARACTERS)
  return Math.ceil((estimateTokens(head) * text.length) / head.length)
}

/** Why a call failed, as a sentence. */
function whyOf({ sent, limited, asked, scopes, outcome }: CallRecord): string | undefined {
  if (limited) return `The limit of ${limited.text} was reached.`
  if (asked) return `Nothing here is called "${cut(asked.text, MAX_NAME_CHARACTERS)}".`
  if (sent?.answer instanceof Fault)
    return cut(`${sent.answer.code}: ${sent.answer.message}`, MAX_REASON_CHARACTERS)
  if (scopes)
    return cut(`Its caller needs a token with the scopes ${scopes.join(' ')}.`, MAX_REASON_CHARACTERS)
  if (outcome === 'rejected')
    return 'The gateway refused it before it was sent: its arguments do not fit the tool.'
  const code = sent?.answer.error?.code
  if (code !== undefined) return `The server answered with the JSON-RPC error ${code}.`
  return outcome === 'tool_error' ? 'The tool itself answered with an error.' : undefined
}
