/** Which routers may create TokenReviews, and why gateways are refused if none may. Pure. */
import type { RbacV1Subject } from '@kubernetes/client-node'
import type { Problem } from '../../core/errors.ts'
import { REASON } from '../../crds/conditions.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { gatewayObjectName } from './names.ts'
import type { OperatorSettings } from './settings.ts'

/** Whether the routers of a gateway create TokenReviews. */
export function asksForReviews({ spec }: McpGateway): boolean {
  return spec.auth?.serviceAccounts?.review !== undefined
}

/** The ServiceAccounts of the routers of those gateways that review tokens; sorted. */
export function reviewSubjects(gateways: readonly McpGateway[]): RbacV1Subject[] {
  return gateways
    .filter(asksForReviews)
    .map(({ metadata: { name, namespace = '' } }) => ({
      kind: 'ServiceAccount',
      name: gatewayObjectName(name),
      namespace,
    }))
    .sort((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1))
}

/** Refuses a gateway whose routers have no right to create TokenReviews: they would answer 503 to every ServiceAccount. */
export function reviewProblems(
  gateway: McpGateway,
  { tokenReviewBinding }: Pick<OperatorSettings, 'tokenReviewBinding'>,
): Problem[] {
  if (!asksForReviews(gateway) || tokenReviewBinding !== '') return []
  const message =
    "the operator was installed without the right to let routers review tokens, so they would answer 503 to every ServiceAccount: remove it, or set the chart's value tokenReview.enabled to true"
  return [{ reason: REASON.notEnforced, path: 'spec.auth.serviceAccounts.review', message }]
}
