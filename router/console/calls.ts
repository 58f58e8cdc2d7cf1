/** Keeps the last calls of a router. Arguments and results are stored separately, and only if the manifests allow it. */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import { SCRIPTS } from '../../core/catalog/router-config.ts'
import type { ConsoleCall, ConsolePayload } from '../../core/console/shapes.ts'
import { Fault } from '../../core/errors.ts'
import { estimateTokens } from '../catalog/estimate.ts'
import { PROFILES } from '../meta/profiles/profiles.ts'
import type { CallRecord, RecordedRequest, ScriptRecord } from '../observer.ts'

const MAX_CALLS = 1_000
/** Tokens are estimated from the beginning of a text: a long one takes too long. */
const READ_CHARACTERS = 8_192
/** Reviewed scripts whose call is not recorded yet: it is in the same turn. */
const MAX_RUNS = 100
const MAX_REASON_CHARACTERS = 400
const MAX_NAME_CHARACTERS = 100
const MAX_PAYLOAD_CHARACTERS = 16_384
const WITHHELD =
  'Arguments and results are not recorded: spec.logging.payloads of the server and spec.audit.payloads of the gateway must both allow it.'

/** A call with the identity of who made it. */
export type KeptCall = { call: ConsoleCall; by: string; payload?: string }

export type Calls = {
  /** Identifies this run of the gateway. The next run numbers its calls from the start. */
  readonly run: string
  called(record: CallRecord): void
  searched(ms: number, hits: number, by: RecordedRequest): void
  scriptRan(record: ScriptRecord): void
  /** Those after a number, oldest first. */
  after(seq: number): KeptCall[]
  onCall(listener: (kept: KeptCall) => void): () => void
}

export function createCalls(clock: Clock): Calls {
  const kept: KeptCall[] = []
  const listeners = new Set<(kept: KeptCall) => void>()
  const runs = createRuns()
  let seq = 0
  const keep = (call: Omit<ConsoleCall, 'seq' | 'at'>, by: string, payload?: string): void => {
    const one = { call: { seq: ++seq, at: clock.now(), ...call }, by, payload }
    kept.push(one)
    if (kept.length > MAX_CALLS) kept.shift()
    for (const listener of listeners) listener(one)
  }
  return {
    run: randomUUID(),
    called(record) {
      const { server, tool, method, outcome, totalMs, upstreamMs, script, payload } = record
      const ran = server === SCRIPTS ? runs.take(tool, script) : undefined
      const call = { server, tool, method, outcome, totalMs, upstreamMs, script, ran }
      const more = { ...fromOf(record.by), tokens: tokensOf(record), why: whyOf(record) }
      keep({ ...call, ...more }, record.by.request.caller.identity.id, payload && textOf(payload))
    },
    searched(ms, hits, by) {
      const { method, caller } = by.request
      keep({ method, outcome: 'ok', totalMs: ms, upstreamMs: 0, hits, ...fromOf(by) }, caller.identity.id)
    },
    scriptRan({ id, reviewed, parent, outcome, calls, toolsMs, totalMs, keptTokens, by }) {
      const ran = { id, calls, keptTokens }
      if (reviewed !== undefined) return runs.add(reviewed, parent, ran)
      const call = { method: by.request.method, outcome, totalMs, upstreamMs: toolsMs, ran }
      keep({ ...call, ...fromOf(by) }, by.request.caller.identity.id)
    },
    after: from => kept.slice(Math.max(0, kept.length - (seq - from))),
    onCall(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

type Ran = NonNullable<ConsoleCall['ran']>

/** A reviewed script is recorded as a script when it ends, and at once as the tool that was called: one line of the log says both. */
function createRuns() {
  const runs = new Map<string, Ran[]>()
  const keyOf = (name = '', parent = '') => `${parent} ${name}`
  return {
    add(name: string, parent: string | undefined, ran: Ran): void {
      if (runs.size >= MAX_RUNS) runs.clear()
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

/** What may be shown of a call besides its line. */
export function payloadOf({ payload }: KeptCall): ConsolePayload {
  if (payload === undefined) return { withheld: WITHHELD }
  if (payload === '') return { withheld: `It is longer than ${MAX_PAYLOAD_CHARACTERS} characters.` }
  return JSON.parse(payload)
}

/** Empty if it is too long. */
function textOf(payload: NonNullable<CallRecord['payload']>): string {
  const text = JSON.stringify(payload)
  return text.length > MAX_PAYLOAD_CHARACTERS ? '' : text
}

/** Who made a request, and by which meta-tool: names of meta-tools are ours, other names in a request are text of its sender. */
function fromOf({ request: { params, caller } }: RecordedRequest) {
  const { caller: id, name: client, session } = caller.label ?? {}
  const name = params?.name
  const isMeta = typeof name === 'string' && Object.values(PROFILES).some(({ tools }) => tools.has(name))
  return { caller: id, client, session, meta: isMeta ? name : undefined }
}

function tokensOf({ sent }: CallRecord): number | undefined {
  const text = sent && !(sent.answer instanceof Fault) && sent.answer.result && sent.answer.resultText
  if (!text) return undefined
  const head = text.slice(0, READ_CHARACTERS)
  return Math.ceil((estimateTokens(head) * text.length) / head.length)
}

function whyOf({ sent, limited, asked, outcome }: CallRecord): string | undefined {
  if (limited) return `The limit of ${limited.text} was reached.`
  if (asked) return `Nothing here is called "${asked.text.slice(0, MAX_NAME_CHARACTERS)}".`
  if (outcome === 'rejected')
    return 'The gateway refused it before it was sent: its arguments do not fit the tool.'
  if (sent?.answer instanceof Fault)
    return `${sent.answer.code}: ${sent.answer.message}`.slice(0, MAX_REASON_CHARACTERS)
  const code = sent?.answer.error?.code
  if (code !== undefined) return `The server answered with the JSON-RPC error ${code}.`
  return outcome === 'tool_error' ? 'The tool itself answered with an error.' : undefined
}
