/** Finds problems of a cluster in the conditions of its gateways and servers, with a command that shows more. Pure. */
import type { ConsoleClusterEvents, ConsoleCondition } from '../core/console/shapes.ts'

export type ClusterProblem = {
  kind: 'gateway' | 'server'
  namespace: string
  name: string
  reason: string
  message: string
  since?: number
  command: string
}

/** Types of conditions that are not shown: Progressing is no problem, and Ready reports outages too, with their reason. */
const IGNORED: ReadonlySet<string> = new Set(['Progressing', 'Available'])

type ReportedObject = {
  namespace: string
  name: string
  ready: boolean
  conditions: readonly ConsoleCondition[]
}

/** Gateways come first, since agents connect to them. */
export function clusterProblems({ gateways, servers }: ConsoleClusterEvents['cluster']): ClusterProblem[] {
  return [
    ...gateways.flatMap(one => problemsOf('gateway', one)),
    ...servers.flatMap(one => problemsOf('server', one)),
  ]
}

/** A condition that has the same reason as Ready is left out. */
function problemsOf(
  kind: ClusterProblem['kind'],
  { namespace, name, conditions }: ReportedObject,
): ClusterProblem[] {
  const wrong = conditions.filter(({ type, status }) => status === 'False' && !IGNORED.has(type))
  return wrong
    .filter(
      ({ type, reason }) =>
        type === 'Ready' || !wrong.some(one => one.type === 'Ready' && one.reason === reason),
    )
    .map(({ type, reason, message, since }) => ({
      ...{ kind, namespace, name, reason, message, since },
      command:
        type === 'ToolsApproved'
          ? `npx portolan approve ${name} --namespace ${namespace} --diff`
          : `kubectl -n ${namespace} describe mcp${kind}/${name}`,
    }))
}
