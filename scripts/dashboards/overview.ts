/** The overview dashboard: calls, errors, search, tokens and catalogs of all gateways. */
import type { DashboardContent, PanelContent } from './content.ts'
import { processPanels } from './processes.ts'
import { FAILED, GATEWAY, increase, NAMESPACE, quantile, quantiles, ROUTERS, rate, share } from './queries.ts'

const CALLS = 'portolan_calls_total'
const TIMES = 'portolan_call_duration_seconds'
const DIRECT = 'portolan_tokens_direct_total'
const SERVED = 'portolan_tokens_served_total'
const SEARCHES = 'portolan_search_duration_seconds'
const UNAVAILABLE = 'state=~"failed|authRequired|notAccepted"'
/** Every router of a gateway reports the same value. */
const ONCE = 'max by (namespace, gateway)'

export const overview: DashboardContent = {
  name: 'overview',
  title: 'Portolan / Overview',
  description:
    'What agents experience: calls, errors, latency, search, tokens, servers and catalogs of all gateways.',
  variables: [NAMESPACE, GATEWAY],
  rows: [
    { title: 'At a glance', panels: glance() },
    { title: 'Calls', panels: calls() },
    { title: 'Search and tokens', panels: [...searching(), ...tokens()] },
    { title: 'Servers and catalog', panels: [...servers(), ...catalogs()] },
    { title: 'Routers', panels: processPanels('router', ROUTERS, `portolan_catalog_generation{${ROUTERS}}`) },
  ],
}

function glance(): PanelContent[] {
  return [
    {
      kind: 'number',
      title: 'Calls',
      description:
        'Calls and reads by agents, per second. 0 although agents are active: check that routers are running, and the URL that agents use.',
      unit: 'ops',
      queries: [[`sum(${rate(CALLS, ROUTERS)})`]],
    },
    {
      kind: 'number',
      title: 'Errors',
      description:
        'Share of calls in the time range that failed because of the server or the connection to it. Above 5 %: find the server in "Errors by server".',
      unit: 'percentunit',
      queries: [[share(CALLS, ROUTERS, FAILED)]],
      alarm: { at: 0.05 },
    },
    {
      kind: 'number',
      title: 'Slow calls (p95)',
      description:
        '95 % of all calls take less time in the server. High: find the slow server on the dashboard "Server".',
      unit: 's',
      queries: [[quantile(0.95, TIMES, `${ROUTERS}, part="upstream"`)]],
    },
    {
      kind: 'number',
      title: 'Tools',
      description:
        'Tools that agents can find, over all gateways. Fewer than before: a server failed or was removed.',
      unit: 'none',
      queries: [[`sum(${ONCE} (portolan_catalog_tools{${ROUTERS}}))`]],
    },
    {
      kind: 'number',
      title: 'Unavailable servers',
      description:
        'Servers that are hidden from agents because they failed, need credentials or are not accepted. kubectl get mcpservers shows which, and why.',
      unit: 'none',
      queries: [[`sum(max by (namespace, gateway, state) (portolan_servers{${ROUTERS}, ${UNAVAILABLE}}))`]],
      alarm: { at: 1 },
    },
    {
      kind: 'number',
      title: 'Tokens saved',
      description:
        'Share of tokens saved, compared with sending all definitions at each tools/list. Below 0 the gateways cost more than they save: use the profile "direct" for few tools.',
      unit: 'percentunit',
      queries: [[`1 - sum(${increase(SERVED, ROUTERS)}) / sum(${increase(DIRECT, ROUTERS)})`]],
      alarm: { at: 0, reverse: true },
    },
  ]
}

function calls(): PanelContent[] {
  return [
    {
      kind: 'areas',
      title: 'Calls by outcome',
      description:
        'ok and tool_error: the tool answered; rejected: wrong arguments or an unknown tool; cancelled: by the agent; all others: problems of a server.',
      unit: 'ops',
      queries: [[`sum by (outcome) (${rate(CALLS, ROUTERS)})`, '{{outcome}}']],
    },
    {
      kind: 'lines',
      title: 'Calls by server',
      description:
        'The ten servers with the most calls. A server that gets nearly all calls may need more replicas (spec.scaling).',
      unit: 'ops',
      queries: [[`topk(10, sum by (server) (${rate(CALLS, `${ROUTERS}, server!=""`)}))`, '{{server}}']],
    },
    ...latency(),
    {
      kind: 'lines',
      title: 'Errors by server',
      description:
        'The ten servers with the most calls that failed because of the server or the connection to it, by outcome. Open the dashboard "Server" for the first one.',
      unit: 'ops',
      queries: [
        [
          `topk(10, sum by (server, outcome) (${rate(CALLS, `${ROUTERS}, ${FAILED}`)}))`,
          '{{server}} {{outcome}}',
        ],
      ],
    },
    {
      kind: 'lines',
      title: 'Most called tools',
      description:
        'The ten tools with the most calls. A tool that an agent calls in a loop appears here first.',
      unit: 'ops',
      queries: [
        [
          `topk(10, sum by (server, tool) (${rate('portolan_tool_calls_total', ROUTERS)}))`,
          '{{server}}:{{tool}}',
        ],
      ],
    },
  ]
}

function latency(): PanelContent[] {
  const ofPart = (part: string) => quantiles(TIMES, `${ROUTERS}, part="${part}"`)
  return [
    {
      kind: 'lines',
      title: 'Time in servers',
      description: 'How long servers take for a call. This is nearly all of the time that an agent waits.',
      unit: 's',
      queries: ofPart('upstream'),
    },
    {
      kind: 'lines',
      title: "Routers' own time",
      description:
        'The time that the router adds to a call, including waiting for a free slot of the server and until it is woken. Above about 10 ms: see its event loop below, and waiting calls on the dashboard "Server".',
      unit: 's',
      queries: ofPart('router'),
    },
  ]
}

function searching(): PanelContent[] {
  return [
    {
      kind: 'lines',
      title: 'Searches',
      description:
        'Searches for tools per second. Many more than calls: agents do not find what they need; improve descriptions and keywords of the McpServers.',
      unit: 'ops',
      queries: [[`sum(${rate(`${SEARCHES}_count`, ROUTERS)})`, 'searches']],
    },
    {
      kind: 'lines',
      title: 'Time of searches',
      description: 'How long one search in the catalog takes. Above about 10 ms: the router needs more CPU.',
      unit: 's',
      queries: quantiles(SEARCHES, ROUTERS),
    },
  ]
}

function tokens(): PanelContent[] {
  return [
    {
      kind: 'lines',
      title: 'Tokens direct, served and saved',
      description:
        'Tokens per second: direct is the cost of all definitions at each tools/list, served is what the gateways answered instead, saved is the difference. Results of tools do not count.',
      unit: 'short',
      queries: [
        [`sum(${rate(DIRECT, ROUTERS)})`, 'direct'],
        [`sum(${rate(SERVED, ROUTERS)})`, 'served'],
        [`sum(${rate(DIRECT, ROUTERS)}) - sum(${rate(SERVED, ROUTERS)})`, 'saved'],
      ],
    },
    {
      kind: 'lines',
      title: 'Tokens saved by profile',
      description:
        'Tokens saved per second, for each profile. Below 0: searches cost more than the profile saves; use another one, or "direct" for few tools.',
      unit: 'short',
      queries: [[`${byProfile(DIRECT)} - (${byProfile(SERVED)} or 0 * ${byProfile(DIRECT)})`, '{{profile}}']],
    },
    {
      kind: 'areas',
      title: 'Tokens served by kind',
      description:
        'What the gateways answered themselves: definitions of the meta-tools, searches, schemas, resources, errors. Many for errors: agents call unknown tools.',
      unit: 'short',
      queries: [[`sum by (kind) (${rate(SERVED, ROUTERS)})`, '{{kind}}']],
    },
  ]
}

function byProfile(counter: string): string {
  return `sum by (profile) (${rate(counter, ROUTERS)})`
}

function servers(): PanelContent[] {
  return [
    {
      kind: 'areas',
      title: 'Servers by state',
      description:
        'States as routers see them. Servers that are failed, authRequired or notAccepted are hidden from agents.',
      unit: 'none',
      queries: [
        [`sum by (state) (max by (namespace, gateway, state) (portolan_servers{${ROUTERS}}))`, '{{state}}'],
      ],
    },
    {
      kind: 'lines',
      title: 'Tools by gateway',
      description:
        'Tools that the agents of each gateway can find. A step down: a server failed or was removed.',
      unit: 'none',
      queries: [[`${ONCE} (portolan_catalog_tools{${ROUTERS}})`, '{{namespace}}/{{gateway}}']],
    },
    {
      kind: 'lines',
      title: 'Age of lists',
      description:
        'The ten oldest lists of tools. Older than three times spec.discovery.interval: see why on the dashboard "Server".',
      unit: 's',
      queries: [
        [
          'topk(10, max by (namespace, server) (portolan_list_age_seconds{namespace=~"$namespace"}))',
          '{{namespace}}/{{server}}',
        ],
      ],
    },
  ]
}

function catalogs(): PanelContent[] {
  const served = `max by (namespace, gateway, pod) (portolan_catalog_generation{${ROUTERS}})`
  const written = `${ONCE} (portolan_feed_generation{${ROUTERS}})`
  return [
    {
      kind: 'lines',
      title: 'Catalog generation by router',
      description:
        'All routers of a gateway should serve the same generation, except for about a second after a change.',
      unit: 'none',
      queries: [[served, '{{namespace}}/{{pod}}']],
    },
    {
      kind: 'states',
      title: 'Routers that are behind',
      description:
        'Whether a router serves an older generation than the newest. For more than a minute: read its log; perhaps it cannot reach the API server.',
      unit: 'none',
      queries: [
        [`${written} > bool on (namespace, gateway) group_right () ${served}`, '{{namespace}}/{{pod}}'],
      ],
      words: { 0: ['current', 'green'], 1: ['behind', 'red'] },
    },
    {
      kind: 'lines',
      title: 'Lists and Secrets not read yet',
      description:
        'Parts of the newest router config that a router could not read. For more than a minute: read its log; perhaps its Role is missing.',
      unit: 'none',
      queries: [[`sum by (namespace, pod) (portolan_catalog_missing{${ROUTERS}})`, '{{namespace}}/{{pod}}']],
    },
    {
      kind: 'lines',
      title: 'Time to reload',
      description: 'How long it takes to build and replace a catalog. Calls are answered meanwhile.',
      unit: 's',
      queries: quantiles('portolan_reload_duration_seconds', ROUTERS),
    },
    {
      kind: 'lines',
      title: 'Reloads that failed',
      description:
        'Catalogs that could not be built (the last good one is still served) or fully adopted. Not 0: a bug; the log has the stack trace.',
      unit: 'ops',
      queries: [
        [
          `sum by (namespace, pod) (${rate('portolan_reload_failures_total', ROUTERS)})`,
          '{{namespace}}/{{pod}}',
        ],
      ],
    },
  ]
}
