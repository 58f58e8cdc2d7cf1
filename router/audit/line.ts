/** Builds the lines of the audit stream, and decides what of a request they contain: never tokens, headers or results. Pure. */
import { hash } from 'node:crypto'
import type { AccessConfig, AuditArguments } from '../../core/catalog/access-config.ts'
import { canonicalJson, isObject, type JsonObject } from '../../core/json.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { redact } from '../meta/calling/payload.ts'

/** What was decided about a request or a credential (NIST SP 800-53, AU-3). */
export type Decision = {
  event: 'call' | 'denial' | 'login'
  decision: 'allowed' | 'denied' | 'limited' | 'unauthenticated'
  reason?: string
  /** The access rule that grants, or the limit that refuses. */
  rule?: string
  /** Undefined if the caller was not identified. */
  identity?: Who
  from: From
  method?: string
  target?: Target
  outcome?: string
  /** Id of the script that made the call, or that the line is about. */
  script?: string
  /** Id of the script that called the script that the line is about. */
  parent?: string
  ms?: number
  /** Of the server's answer. */
  bytes?: number
  /** As far as `audit.arguments` allows. */
  arguments?: unknown
}

/** As much of an identity as lines name. Without `name`: only issuer and subject are known. */
export type Who = Pick<Identity, 'id' | 'kind' | 'issuer' | 'subject'> &
  Partial<Pick<Identity, 'name' | 'actor'>>

/** Where a request comes from. `client` and `session` are as in the request log, `trace` is the id of its trace. */
export type From = { client?: string; session?: string; address?: string; trace?: string }

/** Names come from servers and manifests, never from the text of a request, except for `uri`. */
export type Target = { server?: string; tool?: string; prompt?: string; uri?: string }

/** Raised when a field changes its meaning. */
const VERSION = 1
const MAX_ARGUMENT_NAMES = 64
const MAX_NAME = 128
const MAX_FULL = 16_384
const MAX_URI = 512

/** The line of a decision, as JSON. `place`: where and when it was made; `count`: how many more there were like this one. */
export function lineOf(
  decision: Decision,
  place: { id: string; time: string; gateway: string; replica?: string; policy: string },
  count?: number,
): string {
  const { identity, event, method, target, from, outcome, ms, bytes } = decision
  const line = {
    stream: 'audit',
    v: VERSION,
    id: place.id,
    time: place.time,
    gateway: place.gateway,
    replica: place.replica,
    event,
    method,
    decision: decision.decision,
    reason: decision.reason,
    rule: decision.rule,
    count,
    caller: identity && callerOf(identity),
    client: from.client,
    address: from.address,
    session: from.session,
    trace: from.trace,
    target,
    outcome,
    script: decision.script,
    parent: decision.parent,
    ms: ms === undefined ? undefined : Math.round(ms * 100) / 100,
    bytes,
    arguments: decision.arguments,
    credential: { kind: credentialOf(decision) },
    policy: place.policy,
  }
  return `${JSON.stringify(line)}\n`
}

function callerOf({ id, issuer, subject, name, kind, actor }: Who) {
  return kind === 'anonymous' ? { kind } : { id, issuer, subject, name, kind, actor }
}

function credentialOf({ identity, reason, decision }: Decision): string {
  if (!identity) return reason === 'NoToken' || decision === 'allowed' ? 'none' : 'unknown'
  const kinds = { anonymous: 'none', token: 'token', serviceAccount: 'serviceAccount', user: 'jwt' } as const
  return kinds[identity.kind]
}

/** A digest of a gateway's rules and limits, by which lines show under which rules they were decided. */
export function policyOf({ rules, tools, rateLimits }: AccessConfig): string {
  return hash('sha256', canonicalJson({ rules, tools, rateLimits })).slice(0, 16)
}

/** What is recorded of the arguments of a call; undefined: nothing. */
export function recorded(args: unknown, how: AuditArguments): unknown {
  if (how === 'None' || args === undefined) return undefined
  if (how === 'Digest') return `sha256:${hash('sha256', canonicalJson(args))}`
  if (how === 'Names') return isObject(args) ? namesOf(args) : undefined
  const shown = how === 'Redacted' ? redact(args) : args
  const { length } = JSON.stringify(shown)
  return length > MAX_FULL ? { tooLong: length } : shown
}

function namesOf(args: JsonObject): string[] {
  const names = Object.keys(args).slice(0, MAX_ARGUMENT_NAMES)
  return names.map(name => name.slice(0, MAX_NAME)).sort()
}

/** A URI without the parts in which credentials are sent: user, query and fragment. */
export function shownUri(uri: string): string {
  return (uri.split(/[?#]/, 1)[0] as string).replace(/\/\/[^/]*@/, '//').slice(0, MAX_URI)
}

/** An IPv4 address that comes from an IPv6 socket (`::ffff:192.0.2.1`) is shown without that prefix. */
export function shownAddress(address: string | undefined): string | undefined {
  return address?.replace(/^::ffff:(?=\d+\.)/i, '')
}
