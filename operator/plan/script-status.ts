/** The status of an McpScript: which gateways offer it, and whether the tools that it names exist. Pure. */
import { type GivenScript, scriptRefusals } from '../../core/catalog/resolve-scripts.ts'
import type { Problem } from '../../core/errors.ts'
import { CONDITION, REASON } from '../../crds/conditions.ts'
import type { McpScriptStatus } from '../../crds/script.ts'
import { condition, notReady, ready, type Verdict } from './conditions.ts'
import type { PlannedCondition } from './plan.ts'

/** A gateway of the namespace that offers the script, or that selects it but cannot offer it. */
export type ScriptPlace = { gateway: string } & (
  | { problem: Problem }
  /** `unknown`: tools that the script names but the gateway does not have. */
  | { unknown: readonly string[] }
)

export type ScriptPlanStatus = Omit<McpScriptStatus, 'conditions'> & { conditions: PlannedCondition[] }

/** maxItems of `status.gateways` and `status.tools`. */
const MAX_ITEMS = 100
const MAX_IN_MESSAGE = 5

/** The status of a script whose manifest could be parsed. `places`: all gateways that select it. */
export function scriptStatus(script: GivenScript, places: readonly ScriptPlace[]): ScriptPlanStatus {
  const generation = script.manifest.metadata.generation ?? 0
  const [refusal] = scriptRefusals(script)
  if (refusal) return invalidScriptStatus([refusal], generation)
  const gateways = places.flatMap(place => ('unknown' in place ? [place.gateway] : [])).toSorted()
  const trouble = troubleOf(places)
  const { tools } = script.inspected
  return {
    observedGeneration: generation,
    ...(gateways.length > 0 && { gateways: gateways.slice(0, MAX_ITEMS) }),
    ...(tools.length > 0 && { tools: tools.slice(0, MAX_ITEMS) }),
    conditions: [
      condition(CONDITION.accepted, 'True', { reason: REASON.accepted, message: 'It is valid.' }, generation),
      trouble
        ? notReady(trouble, generation)
        : ready({ reason: REASON.ready, message: `Offered by ${listed(gateways)}.` }, generation),
    ],
  }
}

/** The status of a script whose manifest is not valid. */
export function invalidScriptStatus(problems: readonly Problem[], generation: number): ScriptPlanStatus {
  const message = problems.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ')
  const verdict = { reason: REASON.notAccepted, message: 'It is not accepted: see the condition Accepted' }
  return {
    observedGeneration: generation,
    conditions: [
      condition(
        CONDITION.accepted,
        'False',
        { reason: problems[0]?.reason ?? REASON.invalid, message },
        generation,
      ),
      notReady(verdict, generation),
    ],
  }
}

function troubleOf(places: readonly ScriptPlace[]): Verdict | undefined {
  const offering = places.filter(place => 'unknown' in place)
  if (offering.length === 0) {
    const [problem] = places.flatMap(place => ('problem' in place ? [place.problem] : []))
    if (problem) return { reason: problem.reason, message: problem.message }
    const message =
      'No McpGateway of the namespace with spec.code.enabled selects it by spec.code.scripts.selector.'
    return { reason: REASON.noGateway, message }
  }
  const lacking = offering.find(({ unknown }) => unknown.length > 0)
  if (!lacking) return undefined
  const message = `It calls ${listed(lacking.unknown)}, and no server of McpGateway ${lacking.gateway} has that. Agents can still call the script.`
  return { reason: REASON.toolNotFound, message }
}

/** The first names, and how many more there are. */
function listed(names: readonly string[]): string {
  const more = names.length - MAX_IN_MESSAGE
  return `${names.slice(0, MAX_IN_MESSAGE).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
