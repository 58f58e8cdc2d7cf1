/** The conditions Accepted, Available, Progressing and Ready of servers and gateways. Pure. */
import type { Problem } from '../../core/errors.ts'
import { CONDITION, REASON } from '../../crds/conditions.ts'
import type { PlannedCondition, Taken } from './plan.ts'

/** Reason and message of a condition; the message says what to do. */
export type Verdict = { reason: string; message: string }

/** Reasons of warnings that become the reason of the condition Accepted. */
const PROMOTED: readonly string[] = [
  REASON.secretNotFound,
  REASON.configMapNotFound,
  REASON.keyNotFound,
  REASON.callersUnknown,
  REASON.exchangeNotAllowed,
  REASON.tooLarge,
]
/** Reasons that do not mean that a rollout is stuck. */
const NOT_STUCK: readonly string[] = [
  REASON.starting,
  REASON.updating,
  REASON.updateQueued,
  REASON.suspended,
  REASON.noReplicas,
]
const MAX_PROBLEMS = 5
const MAX_ANSWER_CHARACTERS = 1_000
/** The API server allows 32,768. */
export const MAX_MESSAGE_CHARACTERS = 8_000

/** The problem of an object of another owner that has a name which the plan needs. */
export function takenProblem({ kind, name, owner }: Taken): Problem {
  const belongs = owner === undefined ? 'has another owner' : `belongs to ${owner}`
  const message = `the ${kind} "${name}", which is needed, ${belongs}: choose another name, or delete it`
  return { reason: REASON.nameTaken, path: 'metadata.name', message }
}

/** A refusal by the API server, at the field that the refused kind is made from: `fields` maps kinds to paths. */
export function refusedProblem(answer: string, fields: Readonly<Record<string, string>>): Problem {
  const kind = Object.keys(fields).find(kind => new RegExp(`\\b${kind}\\b`).test(answer))
  const message = `the API server refuses the object made from it: ${sentenceOf(answer)}`
  return { reason: REASON.invalid, path: kind ? fields[kind] : 'spec', message }
}

/** For objects that cannot be created because of a quota, an admission policy or missing rights. */
export function deniedVerdict(answer: string): Verdict {
  return { reason: REASON.podRejected, message: `The cluster does not allow it: ${sentenceOf(answer)}` }
}

/** The API server's message without our prefix. */
function sentenceOf(answer: string): string {
  return answer.replace(/^The API server answered \d+: /, '').slice(0, MAX_ANSWER_CHARACTERS)
}

/** Accepted with warnings. If one is a missing Secret, ConfigMap or key, or a server that is left out, its reason becomes the condition's. */
export function accepted(warnings: readonly Problem[], generation: number): PlannedCondition {
  const message = warnings.length === 0 ? 'It is valid.' : `It is valid, but: ${sentences(warnings)}`
  const reason = warnings.find(({ reason }) => PROMOTED.includes(reason))?.reason ?? REASON.accepted
  return condition(CONDITION.accepted, 'True', { reason, message }, generation)
}

/** Refused, and so not ready. `reason` defaults to that of the first problem. `available`: whether its pods still answer calls. */
export function notAccepted(
  refusals: readonly Problem[],
  generation: number,
  { reason = refusals[0]?.reason ?? REASON.invalid, available = false } = {},
): PlannedCondition[] {
  const seeAccepted = {
    reason: REASON.notAccepted,
    message: 'It is not accepted: see the condition Accepted',
  }
  return [
    condition(CONDITION.accepted, 'False', { reason, message: sentences(refusals) }, generation),
    availability(available ? undefined : seeAccepted, generation),
    notReady(seeAccepted, generation),
  ]
}

/** Whether calls are answered, by pods of any revision. `outage`: why not. */
export function availability(outage: Verdict | undefined, generation: number): PlannedCondition {
  return outage
    ? condition(CONDITION.available, 'False', brief(outage), generation)
    : condition(
        CONDITION.available,
        'True',
        { reason: REASON.available, message: 'Calls are answered.' },
        generation,
      )
}

/**
 * Like the condition Progressing of a Deployment: true while pods are being replaced and afterwards, false if this is stuck. `trouble`: why not
 * all pods are ready and of the newest revision.
 */
export function progress(trouble: Verdict | undefined, generation: number): PlannedCondition {
  const complete = { reason: REASON.complete, message: 'All instances run the newest revision.' }
  const isStuck = trouble !== undefined && !NOT_STUCK.includes(trouble.reason)
  return condition(
    CONDITION.progressing,
    isStuck ? 'False' : 'True',
    trouble ? brief(trouble) : complete,
    generation,
  )
}

/** Only the first line: the others are output of the process, which the condition Ready shows. */
function brief({ reason, message }: Verdict): Verdict {
  return { reason, message: message.split('\n')[0] ?? '' }
}

export function ready(verdict: Verdict, generation: number): PlannedCondition {
  return condition(CONDITION.ready, 'True', verdict, generation)
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
  const stored = cutMessage(message, MAX_MESSAGE_CHARACTERS)
  return { type, status, reason, message: stored, observedGeneration }
}

/** The first problems with their paths, in one line. */
function sentences(problems: readonly Problem[]): string {
  const shown = problems
    .slice(0, MAX_PROBLEMS)
    .map(({ path, message }) => (path ? `${path}: ${message}` : message))
  const more = problems.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

/** The beginning of a message for a status, well-formed: for half of a character the API server stores U+FFFD, so that the status would differ from the planned one for ever. */
export function cutMessage(message: string, characters: number): string {
  return message.slice(0, characters).toWellFormed()
}
