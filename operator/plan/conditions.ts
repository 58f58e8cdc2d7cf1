/** The conditions Accepted and Ready of servers and gateways. Pure. */
import type { Problem } from '../../core/errors.ts'
import type { ObjectRef } from '../../core/kube/object.ts'
import { CONDITION, REASON } from '../../crds/conditions.ts'
import type { PlannedCondition } from './plan.ts'

/** Reason and message of a condition; the message says what to do. */
export type Verdict = { reason: string; message: string }

const MISSING: readonly string[] = [REASON.secretNotFound, REASON.keyNotFound]
const MAX_TOLD = 5
const MAX_SAID = 1_000
/** The API server allows 32,768 characters. */
const MAX_MESSAGE = 8_000

export function takenProblem({ kind, name }: ObjectRef): Problem {
  const message = `the ${kind} "${name}", which is needed, has another owner: choose another name, or delete it`
  return { reason: REASON.nameTaken, path: 'metadata.name', message }
}

/** A refusal by the API server, at the field that the refused kind is made from: `fields` maps kinds to paths. */
export function refusedProblem(said: string, fields: Readonly<Record<string, string>>): Problem {
  const kind = Object.keys(fields).find(kind => new RegExp(`\\b${kind}\\b`).test(said))
  const message = `the API server refuses the object made from it: ${sentenceOf(said)}`
  return { reason: REASON.invalid, path: kind ? fields[kind] : 'spec', message }
}

/** For objects that a quota, an admission policy or missing rights keep out. */
export function deniedVerdict(said: string): Verdict {
  return { reason: REASON.podRejected, message: `The cluster does not allow it: ${sentenceOf(said)}` }
}

function sentenceOf(said: string): string {
  return said.replace(/^The API server answered \d+: /, '').slice(0, MAX_SAID)
}

/** Accepted with warnings. If one is a missing Secret or key, its reason becomes the condition's. */
export function accepted(warnings: readonly Problem[], generation: number): PlannedCondition {
  const message = warnings.length === 0 ? 'It is valid.' : `It is valid, but: ${sentences(warnings)}`
  const reason = warnings.find(({ reason }) => MISSING.includes(reason))?.reason ?? REASON.accepted
  return condition(CONDITION.accepted, 'True', { reason, message }, generation)
}

/** `reason` defaults to that of the first problem. */
export function notAccepted(
  refusals: readonly Problem[],
  generation: number,
  reason = refusals[0]?.reason ?? REASON.invalid,
): PlannedCondition[] {
  const message = sentences(refusals)
  return [
    condition(CONDITION.accepted, 'False', { reason, message }, generation),
    condition(CONDITION.ready, 'False', { reason: REASON.notAccepted, message }, generation),
  ]
}

export function ready(message: string, generation: number): PlannedCondition {
  return condition(CONDITION.ready, 'True', { reason: REASON.ready, message }, generation)
}

export function notReady(verdict: Verdict, generation: number): PlannedCondition {
  return condition(CONDITION.ready, 'False', verdict, generation)
}

export function condition(
  type: string,
  status: PlannedCondition['status'],
  { reason, message }: Verdict,
  observedGeneration: number,
): PlannedCondition {
  return { type, status, reason, message: message.slice(0, MAX_MESSAGE), observedGeneration }
}

function sentences(problems: readonly Problem[]): string {
  const shown = problems
    .slice(0, MAX_TOLD)
    .map(({ path, message }) => (path ? `${path}: ${message}` : message))
  const more = problems.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}
