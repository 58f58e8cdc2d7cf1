/** The dashboard of the operator: leader, reconciles, discovery, API writes. */
import type { DashboardContent, PanelContent } from './content.ts'
import { processPanels } from './processes.ts'
import { ofProcesses, quantile, quantiles, rate } from './queries.ts'

/** On this dashboard, the variable `namespace` is the operator's own namespace. */
const OWN = 'namespace=~"$namespace"'
const CPU_REMEDY = 'raise its CPU; only the leader works, so replicas do not help'
/** Both operators of a release report the same objects. */
const ONCE = 'max by (namespace, ready, reason)'
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
    { title: 'Operators', panels: processPanels('operator', OWN, LEADERS, CPU_REMEDY) },
  ],
}

function glance(): PanelContent[] {
  const notReady = (kind: string) =>
    `sum(${ONCE} (portolan_objects{${OWN}, kind="${kind}", ready!="True"})) or vector(0)`
  return [
    {
      kind: 'name',
      title: 'Leader',
      description:
        'The active pod; the others wait. No data: no operator leads, so nothing is changed in the cluster; servers and routers keep running.',
      unit: 'none',
      queries: [[`max by (pod) (${LEADERS}) == 1`, '{{pod}}']],
    },
    {
      kind: 'number',
      title: 'Operators',
      description:
        'Running pods of the operator. One is enough; a second one takes over at once after a normal stop, within about 20 s after a crash.',
      unit: 'none',
      queries: [[`count(${LEADERS})`]],
      alarm: { at: 1, reverse: true },
    },
    {
      kind: 'number',
      title: 'Servers not ready',
      description:
        'McpServers that are not Ready, including suspended ones. The table below shows which, and why.',
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
      description:
        'Failed reconciles per second; they are retried. Not 0 for long: read the log of the operator.',
      unit: 'ops',
      queries: [[`sum(${rate(`${RECONCILES}_count`, `${OWN}, result!="ok"`)}) or vector(0)`]],
    },
    {
      kind: 'number',
      title: 'API writes',
      description:
        'Writes to the API server per second. Without changes it should be 0; if not, something else changes objects of the operator.',
      unit: 'ops',
      queries: [[`sum(${rate(WRITES, OWN)}) or vector(0)`]],
    },
  ]
}

function objects(): PanelContent[] {
  const byReason = (kind: string) => `sum by (reason) (${ONCE} (portolan_objects{${OWN}, kind="${kind}"}))`
  const conditions = ofProcesses('portolan_server_condition{type="Ready"}', LEADERS)
  return [
    {
      kind: 'areas',
      title: 'McpServers by reason',
      description: 'Reasons of the condition Ready. docs/metrics.md says what to do for each alert.',
      unit: 'none',
      queries: [[byReason('McpServer'), '{{reason}}']],
    },
    {
      kind: 'areas',
      title: 'McpGateways by reason',
      description:
        'Reasons of the condition Ready. NoServersSelected and NoReplicas: correct the manifest of the gateway.',
      unit: 'none',
      queries: [[byReason('McpGateway'), '{{reason}}']],
    },
    {
      kind: 'table',
      title: 'Servers that are not ready',
      description: 'Names and reasons. kubectl describe mcpserver shows the whole message.',
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
        'By controller and result. fault: an expected failure, such as an unreachable server, which is retried. bug: please report it.',
      unit: 'ops',
      queries: [
        [`sum by (controller, result) (${rate(`${RECONCILES}_count`, OWN)})`, '{{controller}} {{result}}'],
      ],
    },
    {
      kind: 'lines',
      title: 'Time of reconciles (p95)',
      description: 'By controller. High: the API server is slow, or (for discovery) MCP servers are.',
      unit: 's',
      queries: [[quantile(0.95, RECONCILES, OWN, 'controller'), '{{controller}}']],
    },
    {
      kind: 'lines',
      title: 'Queue depth',
      description:
        'Objects that wait for a reconcile. Not 0 for minutes: the operator needs more CPU, or the API server is slow.',
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
      description: 'Discoveries of server catalogs per second. Failed ones are retried with growing delays.',
      unit: 'ops',
      queries: [[`sum by (outcome) (${rate(`${DISCOVERIES}_count`, OWN)})`, '{{outcome}}']],
    },
    {
      kind: 'lines',
      title: 'Time of discoveries',
      description: 'How long it takes to read the catalog of one server.',
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
        'Write requests, without leases and events. There should be none unless something has changed.',
      unit: 'ops',
      queries: [[`sum by (kind, verb) (${rate(WRITES, OWN)})`, '{{kind}} {{verb}}']],
    },
  ]
}
