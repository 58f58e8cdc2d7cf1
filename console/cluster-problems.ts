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

/** Progress is not a problem, and Ready reports an outage with its reason. */
const IGNORED: ReadonlySet<string> = new Set(['Progressing', 'Available'])

type ReportedObject = {
  namespace: string
  name: string
  ready: boolean
  conditions: readonly ConsoleCondition[]
}

/** Gateways come first, since agents connect to them. */
export function clusterProblems({ gateways, servers }: ConsoleClusterEvents['cluster']): ClusterProblem[] {
  return [...gateways.flatMap(one => of('gateway', one)), ...servers.flatMap(one => of('server', one))]
}

function of(kind: ClusterProblem['kind'], { namespace, name, conditions }: ReportedObject): ClusterProblem[] {
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
