/** Who did what: turns calls, denials and logins into audit lines and metrics. */
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import type { Writable } from 'node:stream'
import type { Clock } from '../../core/async.ts'
import type { AccessConfig, AuditSink as SinkName } from '../../core/catalog/access-config.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import type { AccessMetrics } from '../access-metrics.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { createOnce } from '../meta/once.ts'
import type { Asked, CallRecord, RecordedRequest, ScriptRecord } from '../observer.ts'
import { type Decision, lineOf, policyOf, shownAddress } from './line.ts'
import { createMerger } from './merge.ts'
import { callOf, missOf, scriptOf, searchOf } from './of-requests.ts'
import { type AuditSink, createAuditSink } from './sink.ts'

export type Audit = {
  /** A call ended, or was refused. */
  called(record: CallRecord): void
  /** A search ended. */
  searched(durationMs: number, by: RecordedRequest): void
  /** A script ended. */
  scriptRan(record: ScriptRecord): void
  /** A request named something that does not exist for its caller. */
  missed(by: RecordedRequest, asked: Asked): void
  /** A request of this caller was admitted. If its credential is new to this router, that is a login. */
  admitted(config: RouterConfig, identity: Identity, address: string | undefined): void
  /** A request was decided upon before its body was read. */
  decided(config: RouterConfig, decision: Decision): void
  /** Whether requests are refused, since their lines could not be written. */
  isBlocked(access: AccessConfig): boolean
  /** Writes the lines that still wait. */
  close(): Promise<void>
}

export type AuditOptions = {
  metrics: AccessMetrics
  clock: Clock
  /** Identifies this router. */
  replica?: string
  /** Absent: standard output and standard error of this process. */
  stream?: (sink: SinkName) => Writable
}

export function createAudit({ metrics, clock, replica, stream = standard }: AuditOptions): Audit {
  const once = createOnce()
  const policies = new WeakMap<AccessConfig, string>()
  const sinks = new Map<SinkName, AuditSink>()
  const known = new WeakSet<Identity>()
  const sinkOf = (name: SinkName): AuditSink => {
    const sink = sinks.get(name) ?? createAuditSink(stream(name), metrics.auditLost)
    sinks.set(name, sink)
    return sink
  }
  const write = ({ config, decision }: Decided, count?: number): void => {
    const { access, gateway } = config
    if (!access.audit) return
    const policy = policies.get(access) ?? policyOf(access)
    policies.set(access, policy)
    const place = { id: randomUUID(), time: new Date(clock.now()).toISOString(), policy, replica }
    sinkOf(access.audit.sink).write(lineOf(decision, { ...place, gateway: gateway.name }, count))
  }
  const merger = createMerger<Decided>({ clock, keyOf, ownerOf, blur, tell: write })
  const decided = (config: RouterConfig, decision: Decision): void => {
    if (decision.decision !== 'allowed' || decision.rule !== undefined) metrics.decided(decision)
    if (!isWanted(config.access, decision)) return
    if (decision.decision === 'allowed') write({ config, decision })
    else merger.add({ config, decision })
  }
  // What rules hide is only in the catalog that `seen` is a part of. It may have a user's own lists.
  const whole = (seen: Catalog) => ({ whole: seen.whole ?? seen, seen, once })
  return {
    called(record) {
      const { catalog } = record.by
      if (isWithoutRules(catalog) && !record.limited && !record.scopes) return
      decided(catalog.config, callOf(record, whole(catalog)))
    },
    searched(durationMs, by) {
      if (by.catalog.config.access.audit) decided(by.catalog.config, searchOf(durationMs, by))
    },
    scriptRan(record) {
      const { config } = record.by.catalog
      if (config.access.audit) decided(config, scriptOf(record))
    },
    missed(by, asked) {
      const decision = missOf(by, asked, whole(by.catalog))
      if (decision) decided(by.catalog.config, decision)
    },
    admitted(config, identity, address) {
      if (identity.kind === 'anonymous' || known.has(identity)) return
      known.add(identity)
      const event = 'login' as const
      decided(config, { event, decision: 'allowed', identity, from: { address: shownAddress(address) } })
    },
    decided,
    isBlocked: ({ audit }) => audit?.onOverflow === 'Refuse' && sinkOf(audit.sink).isBlocked(),
    async close() {
      merger.flush()
      await Promise.all([...sinks.values()].map(sink => sink.close()))
    },
  }
}

/** Whether nothing is recorded of calls, unless a limit or a challenge refuses them. */
function isWithoutRules({ view, config }: Catalog): boolean {
  return !view && !config.access.audit
}

type Decided = { config: RouterConfig; decision: Decision }

function isWanted({ audit }: AccessConfig, { event, decision }: Decision): boolean {
  if (!audit) return false
  const { events } = audit
  if (event === 'call') return events.includes('Calls')
  if (event === 'denial') return events.includes('Denials')
  return events.includes('Logins') || (decision !== 'allowed' && events.includes('Denials'))
}

function keyOf({ decision }: Decided): string {
  const { event, decision: what, reason, rule, identity, from, target } = decision
  return JSON.stringify([event, what, reason, rule, identity?.id, from.address, target])
}

/** All callers without an identity are one. */
function ownerOf({ decision: { identity } }: Decided): string {
  return identity?.id ?? ''
}

/** 1: without what was asked for; 2: also without the address; 3: also without the caller. */
function blur({ config, decision: given }: Decided, level: 1 | 2 | 3): Decided {
  const { event, decision, reason, rule, identity, from } = given
  const who = level < 3 ? { identity } : {}
  return {
    config,
    decision: { event, decision, reason, rule, ...who, from: level === 1 ? { address: from.address } : {} },
  }
}

function standard(sink: SinkName): Writable {
  return sink === 'Stdout' ? process.stdout : process.stderr
}
