/** One server: whether it is well, how it is called, what it offers. */
import type { DashboardContent, PanelContent } from './content.ts'
import { FAILED, GATEWAY, NAMESPACE, quantile, quantiles, ROUTERS, rate, share } from './queries.ts'

const CALLS = 'portolan_calls_total'
const TIMES = 'portolan_upstream_duration_seconds'
/** As routers see it, and as the operator does. */
const CALLED = `${ROUTERS}, server="$server"`
const KEPT = 'namespace=~"$namespace", server="$server"'
const TRUTH = { 0: ['no', 'red'], 1: ['yes', 'green'] } as const
const BREAKER = { 0: ['closed', 'green'], 1: ['half open', 'orange'], 2: ['open', 'red'] } as const

export const server: DashboardContent = {
  name: 'server',
  title: 'Portolan / Server',
  description: 'One McpServer: its state, the calls to it, what it offers.',
  variables: [
    NAMESPACE,
    GATEWAY,
    {
      name: 'server',
      label: 'Server',
      query: 'label_values(portolan_server_condition{namespace=~"$namespace"}, server)',
      single: true,
    },
  ],
  rows: [
    { title: 'State', panels: [...glance(), conditions()] },
    { title: 'Calls', panels: [...calls(), ...limits()] },
    { title: 'Tools', panels: tools() },
  ],
}

function glance(): PanelContent[] {
  return [
    {
      kind: 'name',
      title: 'Ready',
      description:
        'The reason of its condition Ready. Anything but Ready: kubectl describe mcpserver says what is wrong and what to do.',
      unit: 'none',
      queries: [[`max by (reason) (portolan_server_condition{${KEPT}, type="Ready"})`, '{{reason}}']],
      alarm: { at: 1, reverse: true },
    },
    {
      kind: 'number',
      title: 'Calls',
      description: 'Calls and reads in a second, through the gateways chosen above.',
      unit: 'ops',
      queries: [[`sum(${rate(CALLS, CALLED)})`]],
    },
    {
      kind: 'number',
      title: 'Errors',
      description:
        'Share of its calls in the time shown that failed for a reason of the server or of the way to it. See below which; its pod has a log.',
      unit: 'percentunit',
      queries: [[share(CALLS, CALLED, FAILED)]],
      alarm: { at: 0.05 },
    },
    {
      kind: 'number',
      title: 'Slow calls (p95)',
      description: 'The time that 95 of 100 calls stay below.',
      unit: 's',
      queries: [[quantile(0.95, TIMES, CALLED)]],
    },
    {
      kind: 'number',
      title: 'Breaker',
      description:
        'Whether a router refuses calls after five failures in a row (open), tries one (half open) or lets all through (closed).',
      unit: 'none',
      queries: [[`max(portolan_upstream_breaker_state{${CALLED}})`]],
      words: BREAKER,
    },
    {
      kind: 'number',
      title: 'List read',
      description:
        'Time since its tools were last read. Beyond three times spec.discovery.interval: look at the condition ToolsDiscovered.',
      unit: 's',
      queries: [[`max(portolan_list_age_seconds{${KEPT}})`]],
    },
  ]
}

function conditions(): PanelContent {
  return {
    kind: 'states',
    title: 'Conditions',
    description:
      'Accepted: its manifest and what that refers to are fine. ToolsDiscovered: its lists were read. Ready: both, and its pods are up.',
    unit: 'none',
    queries: [[`max by (type) (portolan_server_condition{${KEPT}})`, '{{type}}']],
    words: TRUTH,
  }
}

function calls(): PanelContent[] {
  return [
    {
      kind: 'areas',
      title: 'Calls by outcome',
      description:
        'timeout: raise limits.callTimeout or mend the server; unavailable: it is down or its breaker is open; upstream_error: it answers with errors of the protocol.',
      unit: 'ops',
      queries: [[`sum by (outcome) (${rate(CALLS, CALLED)})`, '{{outcome}}']],
    },
    {
      kind: 'lines',
      title: 'Time of calls',
      description:
        'What it takes for a call. Slow while calls wait below: more replicas or more concurrency.',
      unit: 's',
      queries: quantiles(TIMES, CALLED),
    },
    {
      kind: 'lines',
      title: 'Calls by tool',
      description: 'The ten of its tools that are called most.',
      unit: 'ops',
      queries: [[`topk(10, sum by (tool) (${rate('portolan_tool_calls_total', CALLED)}))`, '{{tool}}']],
    },
  ]
}

function limits(): PanelContent[] {
  return [
    {
      kind: 'lines',
      title: 'Calls at work and waiting',
      description:
        'Calls that it is at work on, and calls that wait since spec.limits.concurrency is reached. Waiting for long: raise it, or scale the server out.',
      unit: 'none',
      queries: [
        [`sum(portolan_upstream_calls_active{${CALLED}})`, 'at work'],
        [`sum(portolan_upstream_queue_depth{${CALLED}})`, 'waiting'],
      ],
    },
    {
      kind: 'states',
      title: 'Breaker by router',
      description:
        'Each router has a breaker of its own. Open in one alone: that router does not reach the server; open in all: the server is down.',
      unit: 'none',
      queries: [
        [`max by (namespace, pod) (portolan_upstream_breaker_state{${CALLED}})`, '{{namespace}}/{{pod}}'],
      ],
      words: BREAKER,
    },
  ]
}

function tools(): PanelContent[] {
  return [
    {
      kind: 'lines',
      title: 'Tools',
      description: 'Tools that it offers, after spec.tools.allow and deny.',
      unit: 'none',
      queries: [[`max(portolan_server_tools{${KEPT}})`, 'tools']],
    },
    {
      kind: 'lines',
      title: 'Tokens of definitions',
      description: 'What its tools would cost an agent that is shown all of them (o200k_base).',
      unit: 'short',
      queries: [[`max(portolan_server_tool_tokens{${KEPT}})`, 'tokens']],
    },
    {
      kind: 'lines',
      title: 'Age of its list',
      description: 'Time since its lists were last read, and how often they are to be read.',
      unit: 's',
      queries: [
        [`max(portolan_list_age_seconds{${KEPT}})`, 'age'],
        [`max(portolan_list_interval_seconds{${KEPT}})`, 'interval'],
      ],
    },
  ]
}
