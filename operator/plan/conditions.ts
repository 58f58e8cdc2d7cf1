/** The conditions Accepted and Ready, as servers and gateways have them. Pure. */
import type { Problem } from '../../core/errors.ts'
import type { ObjectRef } from '../../core/kube/object.ts'
import { CONDITION, REASON } from '../../crds/conditions.ts'
import type { PlannedCondition } from './plan.ts'

/** What Ready says: a reason, and a sentence that says what to do. */
export type Verdict = { reason: string; message: string }

const MISSING: readonly string[] = [REASON.secretNotFound, REASON.keyNotFound]
const MAX_TOLD = 5
const MAX_SAID = 1_000
/** Far below what a condition may hold. */
const MAX_MESSAGE = 8_000

export function takenProblem({ kind, name }: ObjectRef): Problem {
  const message = `the ${kind} "${name}", which is needed, belongs to somebody else: choose another name, or delete it`
  return { reason: REASON.nameTaken, path: 'metadata.name', message }
}

/** Which field of the manifest an object of a kind is made of, and what the API server said of one that it refused. */
export function refusedProblem(said: string, fields: Readonly<Record<string, string>>): Problem {
  const kind = Object.keys(fields).find(kind => new RegExp(`\\b${kind}\\b`).test(said))
  const message = `the API server refuses what is made of it: ${sentenceOf(said)}`
  return { reason: REASON.invalid, path: kind ? fields[kind] : 'spec', message }
}

/** Of what a rule of the cluster does not let in. */
export function deniedVerdict(said: string): Verdict {
  return { reason: REASON.podRejected, message: `The cluster does not let it be made: ${sentenceOf(said)}` }
}

function sentenceOf(said: string): string {
  return said.replace(/^The API server answered \d+: /, '').slice(0, MAX_SAID)
}

/** `told` are problems that refuse nothing; what is missing and may still come is the reason. */
export function accepted(told: readonly Problem[], generation: number): PlannedCondition {
  const message = told.length === 0 ? 'It is valid.' : `It is valid, but: ${sentences(told)}`
  const reason = told.find(({ reason }) => MISSING.includes(reason))?.reason ?? REASON.accepted
  return condition(CONDITION.accepted, 'True', { reason, message }, generation)
}

/** `reason` is that of the first problem, unless given. */
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

function condition(
  type: string,
  status: PlannedCondition['status'],
  { reason, message }: Verdict,
  observedGeneration: number,
): PlannedCondition {
  return { type, status, reason, message: message.slice(0, MAX_MESSAGE), observedGeneration }
}

function sentences(problems: readonly Problem[]): string {
  const told = problems
    .slice(0, MAX_TOLD)
    .map(({ path, message }) => (path ? `${path}: ${message}` : message))
  const more = problems.length - told.length
  return [...told, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}
