/** The decisions, for audit and metrics, about requests: allowed by which rule, denied, or limited. */
import { hash } from 'node:crypto'
import { SCRIPTS } from '../../core/catalog/router-config.ts'
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import { Fault } from '../../core/errors.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { contextOf } from '../../core/trace.ts'
import { type Granted, grantsAlone, type View } from '../access/view.ts'
import type { Once } from '../meta/once.ts'
import type { Asked, CallRecord, RecordedRequest, ScriptRecord } from '../observer.ts'
import { type Catalogs, hiddenTarget } from './hidden.ts'
import { type Decision, type From, recorded, shownAddress, shownUri, type Target } from './line.ts'

type Known = Catalogs & { once: Once }

const MAX_NAME_CHARACTERS = 256
const MAX_SOURCE_CHARACTERS = 16_384

/** The decision about a call. Without an audit stream, that of an allowed call has only what metrics need. */
export function callOf(record: CallRecord, known: Known): Decision {
  const { by, asked, limited, scopes, outcome, totalMs: ms } = record
  const { request } = by
  const { identity } = request.caller
  const denied = asked && missOf(by, asked, known)
  if (denied) return denied
  const { audit } = known.seen.config.access
  if (!audit && !limited && !scopes)
    return { event: 'call', decision: 'allowed', from: {}, rule: ruleOf(record, known) }
  const common = { identity, from: fromOf(by), method: record.method, outcome, script: record.script, ms }
  const target = targetOf(record)
  if (limited) {
    const decision = 'limited' as const
    return { ...common, event: 'denial', decision, reason: 'CallLimit', rule: limited.text, target }
  }
  if (scopes) return { ...common, event: 'denial', decision: 'denied', reason: 'InsufficientScope', target }
  const decision: Decision = { ...common, event: 'call', decision: 'allowed', target }
  if (asked) return { ...decision, reason: 'NotFound' }
  decision.rule = ruleOf(record, known)
  if (!audit?.events.includes('Calls')) return decision
  decision.bytes = bytesOf(record)
  decision.arguments = recorded(argumentsOf(record), audit.arguments)
  return decision
}

/** The decision about a search. Its text is recorded as arguments are. */
export function searchOf(ms: number, by: RecordedRequest): Decision {
  const { caller, params } = by.request
  const { audit } = by.catalog.config.access
  return {
    event: 'call',
    decision: 'allowed',
    identity: caller.identity,
    from: fromOf(by),
    method: 'search',
    outcome: 'ok',
    ms,
    arguments: audit && recorded(params.arguments, audit.arguments),
  }
}

/** The decision about a run of a script. Its text is recorded as arguments are: whole only with `Full`, else its digest and length. */
export function scriptOf({ id, outcome, totalMs: ms, source, reviewed, parent, by }: ScriptRecord): Decision {
  const { audit } = by.catalog.config.access
  const digest = `sha256:${hash('sha256', source)}`
  const text = audit?.arguments === 'Full' && source.length <= MAX_SOURCE_CHARACTERS ? source : undefined
  return {
    event: 'call',
    decision: 'allowed',
    identity: by.request.caller.identity,
    from: fromOf(by),
    method: 'script',
    outcome,
    ...(reviewed !== undefined && { target: { server: SCRIPTS, tool: reviewed } }),
    script: id,
    parent,
    ms,
    arguments: { digest, characters: source.length, code: text },
  }
}

/** The denial of something that the caller may not use; undefined if it does not exist for any caller. */
export function missOf(by: RecordedRequest, asked: Asked, known: Known): Decision | undefined {
  const target = known.seen.view && hiddenTarget(known, asked, known.once)
  if (!target) return undefined
  const { method, caller } = by.request
  const { identity } = caller
  return {
    event: 'denial',
    decision: 'denied',
    reason: 'NotGranted',
    identity,
    from: fromOf(by),
    method,
    target,
  }
}

function fromOf({ request, span }: RecordedRequest): From {
  const { caller, params } = request
  const parent = (span?.context() ?? contextOf(params, caller.headers))?.traceparent
  return {
    client: caller.label?.name,
    session: caller.label?.session,
    address: shownAddress(caller.address),
    trace: parent?.split('-', 2)[1]?.slice(0, 32),
  }
}

function targetOf({ server, tool, sent, unsent }: CallRecord): Target | undefined {
  if (server === undefined) return undefined
  if (tool !== undefined) return { server, tool }
  const { name, uri, ref } = sent?.params ?? unsent ?? {}
  const named = isObject(ref) ? ref : { name, uri }
  if (typeof named.uri === 'string') return { server, uri: shownUri(named.uri) }
  return typeof named.name === 'string'
    ? { server, prompt: named.name.slice(0, MAX_NAME_CHARACTERS) }
    : { server }
}

/** The first rule that grants what was called; undefined if there are no rules. For tools, of which there are many calls, it is looked up once. */
function ruleOf(record: CallRecord, { seen, once }: Known): string | undefined {
  const { server = '', tool, asked } = record
  const { view } = seen
  if (!view || asked) return undefined
  if (tool !== undefined) return once(view, `${server}:${tool}`, () => findRule(view, seen, { server, tool }))
  const target = targetOf(record)
  return target && findRule(view, seen, target)
}

function findRule(
  view: View,
  seen: Catalogs['seen'],
  { server, tool, prompt, uri }: Target,
): string | undefined {
  const known = seen.servers.get(server ?? '')
  const definition = tool === undefined ? undefined : seen.toolByName.get(`${server}:${tool}`)?.definition
  const granted = grantedOf(definition, prompt, uri)
  if (!known || !granted) return undefined
  return view.granting.find(rule => grantsAlone(view, rule, known, granted))?.name || undefined
}

function grantedOf(
  tool: ToolDefinition | undefined,
  prompt: string | undefined,
  uri: string | undefined,
): Granted | undefined {
  if (tool) return { tool }
  if (prompt !== undefined) return { prompt }
  return uri === undefined ? undefined : { uri }
}

function argumentsOf({ sent }: CallRecord): JsonObject | undefined {
  const args = sent?.params.arguments ?? sent?.params.argument
  return isObject(args) ? args : undefined
}

/** The bytes of the result or error as the server wrote it. */
function bytesOf({ sent }: CallRecord): number | undefined {
  if (!sent || sent.answer instanceof Fault) return undefined
  const { answer } = sent
  if (answer.error) return Buffer.byteLength(JSON.stringify(answer.error))
  return Buffer.byteLength(answer.resultText ?? JSON.stringify(answer.result))
}
