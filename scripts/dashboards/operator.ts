/** The operator: who leads, what it works on, what it costs the API server. */
import type { DashboardContent, PanelContent } from './content.ts'
import { processPanels } from './processes.ts'
import { ofProcesses, quantile, quantiles, rate } from './queries.ts'

/** The namespace here is the operator's own. */
const OWN = 'namespace=~"$namespace"'
const LEADERS = `portolan_leader{${OWN}}`
const RECONCILES = 'portolan_reconcile_duration_seconds'
const DISCOVERIES = 'portolan_discovery_duration_seconds'
const WRITES = 'portolan_api_writes_total'

export const operator: DashboardContent = {
  name: 'operator',
  title: 'Portolan / Operator',
  description:
    'The operator: servers and gateways by state, reconciles, discovery, API writes, leader, memory.',
  variables: [
    { name: 'namespace', label: "Operator's namespace", query: 'label_values(portolan_leader, namespace)' },
  ],
  rows: [
    { title: 'At a glance', panels: glance() },
    { title: 'Servers and gateways', panels: objects() },
    { title: 'Reconciles', panels: reconciles() },
    { title: 'Discovery and writes', panels: [...discovery(), ...writes()] },
    { title: 'Operators', panels: processPanels('operator', OWN, LEADERS) },
  ],
}

function glance(): PanelContent[] {
  const notReady = (kind: string) =>
    `sum(max by (reason) (portolan_objects{${OWN}, kind="${kind}", ready!="True"})) or vector(0)`
  return [
    {
      kind: 'name',
      title: 'Leader',
      description:
        'The pod that works; the others wait. No data: none leads, and nothing changes in the cluster; servers and routers go on as they are.',
      unit: 'none',
      queries: [[`max by (pod) (${LEADERS}) == 1`, '{{pod}}']],
    },
    {
      kind: 'number',
      title: 'Operators',
      description: 'Pods of the operator that run. One is enough to work, two to take over at once.',
      unit: 'none',
      queries: [[`count(${LEADERS})`]],
      alarm: { at: 1, reverse: true },
    },
    {
      kind: 'number',
      title: 'Servers not ready',
      description: 'McpServers that are not Ready, those suspended included; below is which, and why.',
      unit: 'none',
      queries: [[notReady('McpServer')]],
      alarm: { at: 1 },
    },
    {
      kind: 'number',
      title: 'Gateways not ready',
      description: 'McpGateways that are not Ready. kubectl describe mcpgateway says why.',
      unit: 'none',
      queries: [[notReady('McpGateway')]],
      alarm: { at: 1 },
    },
    {
      kind: 'number',
      title: 'Failed reconciles',
      description: 'Reconciles in a second that failed and are tried again. Not 0 for long: look at its log.',
      unit: 'ops',
      queries: [[`sum(${rate(`${RECONCILES}_count`, `${OWN}, result!="ok"`)}) or vector(0)`]],
    },
    {
      kind: 'number',
      title: 'API writes',
      description:
        'Writes to the API server in a second. At rest it is 0: if not, something else changes what the operator owns.',
      unit: 'ops',
      queries: [[`sum(${rate(WRITES, OWN)}) or vector(0)`]],
    },
  ]
}

function objects(): PanelContent[] {
  const byReason = (kind: string) => `max by (reason) (portolan_objects{${OWN}, kind="${kind}"})`
  const conditions = ofProcesses('portolan_server_condition{type="Ready"}', LEADERS)
  return [
    {
      kind: 'areas',
      title: 'McpServers by reason',
      description: 'Reasons of the condition Ready. docs/metrics.md says of each alert what to do.',
      unit: 'none',
      queries: [[byReason('McpServer'), '{{reason}}']],
    },
    {
      kind: 'areas',
      title: 'McpGateways by reason',
      description:
        'Reasons of the condition Ready: NoServersSelected and NoReplicas are for their manifests to mend.',
      unit: 'none',
      queries: [[byReason('McpGateway'), '{{reason}}']],
    },
    {
      kind: 'table',
      title: 'Servers that are not ready',
      description: 'Which, and why: kubectl describe mcpserver has the whole sentence.',
      unit: 'none',
      queries: [[`max by (namespace, server, reason) (${conditions}) == 0`]],
    },
  ]
}

function reconciles(): PanelContent[] {
  return [
    {
      kind: 'lines',
      title: 'Reconciles',
      description:
        'By controller and result: fault is the world failing in a way that is known, and is tried again; bug is for its authors.',
      unit: 'ops',
      queries: [
        [`sum by (controller, result) (${rate(`${RECONCILES}_count`, OWN)})`, '{{controller}} {{result}}'],
      ],
    },
    {
      kind: 'lines',
      title: 'Time of reconciles (p95)',
      description: 'By controller. Slow: the API server is, or servers take long to answer (discovery).',
      unit: 's',
      queries: [[quantile(0.95, RECONCILES, OWN, 'controller'), '{{controller}}']],
    },
    {
      kind: 'lines',
      title: 'Queue depth',
      description:
        'What is due and waits. Not 0 for minutes: the operator is short of CPU, or the API server is slow.',
      unit: 'none',
      queries: [[`max by (controller) (portolan_queue_depth{${OWN}})`, '{{controller}}']],
    },
  ]
}

function discovery(): PanelContent[] {
  return [
    {
      kind: 'areas',
      title: 'Discoveries',
      description:
        'Servers whose lists were read, or could not be, in a second. Failed ones are tried again, ever more rarely.',
      unit: 'ops',
      queries: [[`sum by (outcome) (${rate(`${DISCOVERIES}_count`, OWN)})`, '{{outcome}}']],
    },
    {
      kind: 'lines',
      title: 'Time of discoveries',
      description: 'What it takes to read the lists of one server.',
      unit: 's',
      queries: quantiles(DISCOVERIES, OWN),
    },
  ]
}

function writes(): PanelContent[] {
  return [
    {
      kind: 'areas',
      title: 'API writes by kind',
      description:
        'Requests that may have changed something; leases and events do not count. At rest there are none.',
      unit: 'ops',
      queries: [[`sum by (kind, verb) (${rate(WRITES, OWN)})`, '{{kind}} {{verb}}']],
    },
  ]
}
