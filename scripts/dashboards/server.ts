/** The dashboard of one server: its state, calls and tools. */
import type { DashboardContent, PanelContent } from './content.ts'
import { FAILED, GATEWAY, NAMESPACE, quantile, quantiles, ROUTERS, rate, share } from './queries.ts'

const CALLS = 'portolan_calls_total'
const TIMES = 'portolan_upstream_duration_seconds'
/** Labels of metrics of routers, and of the operator. */
const BY_ROUTERS = `${ROUTERS}, server="$server"`
const BY_OPERATOR = 'namespace=~"$namespace", server="$server"'
const TRUTH = { 0: ['no', 'red'], 1: ['yes', 'green'] } as const
const BREAKER = { 0: ['closed', 'green'], 1: ['half open', 'orange'], 2: ['open', 'red'] } as const

export const server: DashboardContent = {
  name: 'server',
  title: 'Portolan / Server',
  description: 'One McpServer: its state, the calls to it, what it offers.',
  variables: [
    // One namespace: another one may have a server of the same name.
    { ...NAMESPACE, query: 'label_values(portolan_server_condition, namespace)', single: true },
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
        'The reason of the condition Ready. Anything but Ready: kubectl describe mcpserver says what is wrong and what to do.',
      unit: 'none',
      queries: [[`max by (reason) (portolan_server_condition{${BY_OPERATOR}, type="Ready"})`, '{{reason}}']],
      alarm: { at: 1, reverse: true },
    },
    {
      kind: 'number',
      title: 'Calls',
      description: 'Calls and reads per second, through the gateways selected above.',
      unit: 'ops',
      queries: [[`sum(${rate(CALLS, BY_ROUTERS)})`]],
    },
    {
      kind: 'number',
      title: 'Errors',
      description:
        'Share of its calls in the time range that failed because of the server or the connection to it. See the outcomes below, and the log of its pod.',
      unit: 'percentunit',
      queries: [[share(CALLS, BY_ROUTERS, FAILED)]],
      alarm: { at: 0.05 },
    },
    {
      kind: 'number',
      title: 'Slow calls (p95)',
      description: '95 % of the calls take less time than this.',
      unit: 's',
      queries: [[quantile(0.95, TIMES, BY_ROUTERS)]],
    },
    {
      kind: 'number',
      title: 'Breaker',
      description:
        'Whether a router refuses calls after five consecutive failures (open), tries one (half open) or sends all (closed).',
      unit: 'none',
      queries: [[`max(portolan_upstream_breaker_state{${BY_ROUTERS}})`]],
      words: BREAKER,
    },
    {
      kind: 'number',
      title: 'List read',
      description:
        'Time since its tools were last read. More than three times spec.discovery.interval: see the condition ToolsDiscovered.',
      unit: 's',
      queries: [[`max(portolan_list_age_seconds{${BY_OPERATOR}})`]],
    },
  ]
}

function conditions(): PanelContent {
  return {
    kind: 'states',
    title: 'Conditions',
    description:
      'Accepted: its manifest and references are valid. Available: calls are answered. Progressing: false if pods of the newest revision cannot start. ToolsDiscovered: its catalog was read. Ready: all of that, by the newest revision.',
    unit: 'none',
    queries: [[`max by (type) (portolan_server_condition{${BY_OPERATOR}})`, '{{type}}']],
    words: TRUTH,
  }
}

function calls(): PanelContent[] {
  return [
    {
      kind: 'areas',
      title: 'Calls by outcome',
      description:
        'timeout: raise limits.callTimeout or fix the server; unavailable: it is down or its breaker is open; upstream_error: it answers with protocol errors.',
      unit: 'ops',
      queries: [[`sum by (outcome) (${rate(CALLS, BY_ROUTERS)})`, '{{outcome}}']],
    },
    {
      kind: 'lines',
      title: 'Time of calls',
      description:
        'How long the server takes for a call. Slow while calls are waiting (see below): add replicas or raise the concurrency.',
      unit: 's',
      queries: quantiles(TIMES, BY_ROUTERS),
    },
    {
      kind: 'lines',
      title: 'Calls by tool',
      description: 'The ten tools of the server with the most calls.',
      unit: 'ops',
      queries: [[`topk(10, sum by (tool) (${rate('portolan_tool_calls_total', BY_ROUTERS)}))`, '{{tool}}']],
    },
  ]
}

function limits(): PanelContent[] {
  return [
    {
      kind: 'lines',
      title: 'Active and waiting calls',
      description:
        'Calls in progress, and calls that wait because spec.limits.concurrency is reached. Waiting for long: raise it, or add replicas of the server.',
      unit: 'none',
      queries: [
        [`sum(portolan_upstream_calls_active{${BY_ROUTERS}})`, 'active'],
        [`sum(portolan_upstream_queue_depth{${BY_ROUTERS}})`, 'waiting'],
      ],
    },
    {
      kind: 'lines',
      title: 'Sleep and wakes',
      description:
        'Whether it sleeps (1), calls that wait for it to be woken, and 95 % of the time that calls waited. Long waits: see its events, or keep one instance with scaling.min: 1.',
      unit: 'none',
      queries: [
        [`max(portolan_server_asleep{${BY_OPERATOR}})`, 'asleep'],
        [`sum(portolan_upstream_calls_held{${BY_ROUTERS}})`, 'calls that wait'],
        [quantile(0.95, 'portolan_wake_wait_seconds', BY_ROUTERS), 'seconds waited (p95)'],
      ],
    },
    {
      kind: 'states',
      title: 'Breaker by router',
      description:
        'Each router has its own breaker. Open in only one: that router cannot reach the server; open in all: the server is down.',
      unit: 'none',
      queries: [
        [`max by (namespace, pod) (portolan_upstream_breaker_state{${BY_ROUTERS}})`, '{{namespace}}/{{pod}}'],
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
      description: 'Tools that the server offers, after spec.tools.allow and deny.',
      unit: 'none',
      queries: [[`max(portolan_server_tools{${BY_OPERATOR}})`, 'tools']],
    },
    {
      kind: 'lines',
      title: 'Tokens of definitions',
      description: 'What the definitions of all its tools would cost an agent (o200k_base).',
      unit: 'short',
      queries: [[`max(portolan_server_tool_tokens{${BY_OPERATOR}})`, 'tokens']],
    },
    {
      kind: 'lines',
      title: 'Age of its list',
      description: 'Time since its catalog was last read, and the interval of discovery.',
      unit: 's',
      queries: [
        [`max(portolan_list_age_seconds{${BY_OPERATOR}})`, 'age'],
        [`max(portolan_list_interval_seconds{${BY_OPERATOR}})`, 'interval'],
      ],
    },
  ]
}
