/** Writes the part of a status that one field manager owns, if it changed. */
import type { Clock } from '../../core/async.ts'
import { canonicalJson } from '../../core/json.ts'
import { isNotFound } from '../../core/kube/api-error.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import type { Condition } from '../../crds/conditions.ts'
import type { PlannedCondition } from '../plan/plan.ts'
import type { OperatorMetrics } from './operator-metrics.ts'

/** What one field manager owns of a status: whole fields, and conditions by their type. */
export type StatusOwnership = { fields: readonly string[]; conditions: readonly string[] }

export type ObjectWithStatus = KubeObject & { status?: { conditions?: readonly Condition[] } }

export type StatusResult = {
  written: boolean
  /** Conditions whose status or reason changed. */
  changed: Condition[]
}

export type StatusWriterOptions = {
  client: Pick<KubeClient, 'applyStatus'>
  fieldManager: string
  owned: StatusOwnership
  clock: Clock
  metrics: OperatorMetrics
}

/**
 * Replaces everything that this manager owns with `status`: fields and conditions that it lacks are removed, those of others stay.
 * `object` is the observed object. A deleted object is no error.
 */
export type StatusWriter = (
  object: ObjectWithStatus,
  status: { conditions?: readonly PlannedCondition[]; [field: string]: unknown },
  signal: AbortSignal,
) => Promise<StatusResult>

export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const { client, fieldManager, owned, clock, metrics } = options
  /** What our last write returned, by the observed object that it replaced. */
  const newer = new WeakMap<object, ObjectWithStatus>()
  return async (object, status, signal) => {
    const observed = newer.get(object) ?? object
    const before = observed.status?.conditions ?? []
    const conditions = (status.conditions ?? []).map(planned => withTime(planned, before, clock))
    const wanted: Record<string, unknown> = { ...status, conditions }
    if (isAsWanted(observed, wanted, owned)) return { written: false, changed: [] }
    try {
      const body = { ...object, status: wanted }
      newer.set(object, await client.applyStatus(body, { fieldManager, force: true }, signal))
    } catch (error) {
      if (isNotFound(error)) return { written: false, changed: [] }
      throw error
    }
    metrics.wrote(object.kind, 'status')
    return { written: true, changed: conditions.filter(condition => isChanged(condition, before)) }
  }
}

/** Keeps the last transition time if the status is unchanged. */
function withTime(planned: PlannedCondition, before: readonly Condition[], clock: Clock): Condition {
  const last = before.find(({ type }) => type === planned.type)
  const now = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')
  return { ...planned, lastTransitionTime: last?.status === planned.status ? last.lastTransitionTime : now }
}

function isAsWanted(
  { status = {} }: ObjectWithStatus,
  wanted: Record<string, unknown>,
  owned: StatusOwnership,
): boolean {
  const observed: Record<string, unknown> = status
  return (
    owned.fields.every(field => isSame(observed[field], wanted[field])) &&
    isSame(conditionsOf(observed, owned), conditionsOf(wanted, owned))
  )
}

function conditionsOf(status: Record<string, unknown>, owned: StatusOwnership): Condition[] {
  const all = (status.conditions ?? []) as Condition[]
  const ours = all.filter(({ type }) => owned.conditions.includes(type))
  return ours.sort((a, b) => (a.type < b.type ? -1 : 1))
}

function isChanged({ type, status, reason }: Condition, before: readonly Condition[]): boolean {
  return !before.some(other => other.type === type && other.status === status && other.reason === reason)
}

function isSame(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b)
}
