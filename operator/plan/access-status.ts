/** The part of a gateway's status about its callers: the conditions of authentication and access, and what each rule grants. Pure. */
import { type AccessReport, reportAccess } from '../../core/catalog/access-report.ts'
import { type AccessVerdict, accessVerdict, authVerdict } from '../../core/catalog/access-verdicts.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import { CONDITION } from '../../crds/conditions.ts'
import { condition } from './conditions.ts'
import type { GatewayPlanStatus, GatewayWorld, PlannedCondition } from './plan.ts'

/** `access`: what each rule grants, as a router reports it; until one does, only what the manifests show. */
export function accessStatus(
  world: GatewayWorld,
  config: RouterConfig,
  generation: number,
): { access: NonNullable<GatewayPlanStatus['access']>; conditions: PlannedCondition[] } {
  const report = world.access?.report ?? manifestReport(world, config)
  const toCondition = (type: string, { status, ...verdict }: AccessVerdict) =>
    condition(type, status, verdict, generation)
  return {
    access: report.rules,
    conditions: [
      toCondition(CONDITION.authReady, authVerdict(config.access.auth, world.access?.keys)),
      toCondition(CONDITION.accessResolved, accessVerdict(report)),
    ],
  }
}

/** What the rules grant as far as it can be known without the catalogs of servers. */
function manifestReport({ references }: GatewayWorld, config: RouterConfig): AccessReport {
  const secret = config.access.auth?.tokens?.secretName
  const found = references.find(({ kind, name }) => kind === 'Secret' && name === secret)
  const names = new Set(found?.exists ? Object.keys(found.digests) : [])
  return reportAccess({ ...config, catalogs: new Map(), tokens: found && names })
}
