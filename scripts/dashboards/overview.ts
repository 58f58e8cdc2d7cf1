/** The overview: how agents fare with all gateways. */
import type { DashboardContent, PanelContent } from './content.ts'
import { processPanels } from './processes.ts'
import { FAILED, GATEWAY, increase, NAMESPACE, quantile, quantiles, ROUTERS, rate, share } from './queries.ts'

const CALLS = 'portolan_calls_total'
const TIMES = 'portolan_call_duration_seconds'
const DIRECT = 'portolan_tokens_direct_total'
const SERVED = 'portolan_tokens_served_total'
const SEARCHES = 'portolan_search_duration_seconds'
const NOT_WELL = 'state=~"failed|authRequired|notAccepted"'
/** Every router of a gateway says the same. */
const ONCE = 'max by (namespace, gateway)'

export const overview: DashboardContent = {
  name: 'overview',
  title: 'Portolan / Overview',
  description:
    'How agents fare: calls, errors, latency, search, tokens, servers and catalogs of all gateways.',
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
        'Calls and reads that agents make, in a second. None although agents are at work: look whether routers are up, and whether agents have the right URL.',
      unit: 'ops',
      queries: [[`sum(${rate(CALLS, ROUTERS)})`]],
    },
    {
      kind: 'number',
      title: 'Errors',
      description:
        'Share of calls in the time shown that failed for a reason of the server or of the way to it. Above 5 %: find the server in "Errors by server".',
      unit: 'percentunit',
      queries: [[share(CALLS, ROUTERS, FAILED)]],
      alarm: { at: 0.05 },
    },
    {
      kind: 'number',
      title: 'Slow calls (p95)',
      description:
        'The time that 95 of 100 calls stay below, as servers took it. High: find the slow server on the dashboard "Server".',
      unit: 's',
      queries: [[quantile(0.95, TIMES, `${ROUTERS}, part="upstream"`)]],
    },
    {
      kind: 'number',
      title: 'Tools',
      description:
        'Tools that agents can find, over all gateways. Fewer than before: a server failed or was taken out.',
      unit: 'none',
      queries: [[`sum(${ONCE} (portolan_catalog_tools{${ROUTERS}}))`]],
    },
    {
      kind: 'number',
      title: 'Servers not well',
      description:
        'Servers that agents do not see, since they failed, want credentials or are not accepted. kubectl get mcpservers tells which, and why.',
      unit: 'none',
      queries: [[`sum(max by (namespace, gateway, state) (portolan_servers{${ROUTERS}, ${NOT_WELL}}))`]],
      alarm: { at: 1 },
    },
    {
      kind: 'number',
      title: 'Tokens saved',
      description:
        'Of the tokens that all definitions would have cost at each tools/list, the share that the gateways did not spend. Below 0 they cost more than they save: use the profile "direct" for few tools.',
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
        'ok and tool_error are answers of tools; rejected are wrong arguments and unknown tools; cancelled were given up by the agent; all others are trouble with a server.',
      unit: 'ops',
      queries: [[`sum by (outcome) (${rate(CALLS, ROUTERS)})`, '{{outcome}}']],
    },
    {
      kind: 'lines',
      title: 'Calls by server',
      description:
        'The ten that are called most. A server that takes all calls may want more replicas (spec.scaling).',
      unit: 'ops',
      queries: [[`topk(10, sum by (server) (${rate(CALLS, `${ROUTERS}, server!=""`)}))`, '{{server}}']],
    },
    ...latency(),
    {
      kind: 'lines',
      title: 'Errors by server',
      description:
        'The ten with most calls that did not go well, by what happened. Open the dashboard "Server" for the one on top.',
      unit: 'ops',
      queries: [
        [
          `topk(10, sum by (server, outcome) (${rate(CALLS, `${ROUTERS}, outcome!="ok"`)}))`,
          '{{server}} {{outcome}}',
        ],
      ],
    },
    {
      kind: 'lines',
      title: 'Most called tools',
      description: 'The ten tools that are called most. A tool that is called in a loop shows here first.',
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
      description: 'What servers take for a call. This is nearly all that an agent waits for.',
      unit: 's',
      queries: ofPart('upstream'),
    },
    {
      kind: 'lines',
      title: "Routers' own time",
      description:
        'What the router adds to a call, waiting for a free slot of the server included. Above some 10 ms: look at its event loop below, and at waiting calls on the dashboard "Server".',
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
        'Searches for tools in a second. Many more than calls: agents do not find what they want; better descriptions and keywords in McpServers help.',
      unit: 'ops',
      queries: [[`sum(${rate(`${SEARCHES}_count`, ROUTERS)})`, 'searches']],
    },
    {
      kind: 'lines',
      title: 'Time of searches',
      description: 'What one search in the catalog takes. Above some 10 ms: the router is short of CPU.',
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
        'Tokens in a second: what all definitions would have cost at each tools/list, what the gateways answered instead, and the difference. Results of tools count on neither side.',
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
        'The difference for the agents of each profile. Below 0: they search more than they save; use another profile, or "direct" for few tools.',
      unit: 'short',
      queries: [[`${byProfile(DIRECT)} - (${byProfile(SERVED)} or 0 * ${byProfile(DIRECT)})`, '{{profile}}']],
    },
    {
      kind: 'areas',
      title: 'Tokens served by kind',
      description:
        'What the gateways answered themselves: definitions of the meta-tools, searches, schemas, resources, errors. Much for errors: agents call what they do not know.',
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
        'As routers see them. Those that are failed, authRequired or notAccepted are hidden from agents.',
      unit: 'none',
      queries: [
        [`sum by (state) (max by (namespace, gateway, state) (portolan_servers{${ROUTERS}}))`, '{{state}}'],
      ],
    },
    {
      kind: 'lines',
      title: 'Tools by gateway',
      description: 'Tools that the agents of each gateway can find. A step down: a server was lost.',
      unit: 'none',
      queries: [[`${ONCE} (portolan_catalog_tools{${ROUTERS}})`, '{{namespace}}/{{gateway}}']],
    },
    {
      kind: 'lines',
      title: 'Age of lists',
      description:
        'The ten lists of tools that were read longest ago. Beyond three times spec.discovery.interval: see why on the dashboard "Server".',
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
      description: 'Routers of a gateway serve the same generation, but for a second after a change.',
      unit: 'none',
      queries: [[served, '{{namespace}}/{{pod}}']],
    },
    {
      kind: 'states',
      title: 'Routers that are behind',
      description:
        'Whether a router serves an older generation than the newest. For more than a minute: look at its log; it may not reach the API server.',
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
        'What belongs to the newest config and a router could not read. For more than a minute: look at its log; its Role may be missing.',
      unit: 'none',
      queries: [[`sum by (namespace, pod) (portolan_catalog_missing{${ROUTERS}})`, '{{namespace}}/{{pod}}']],
    },
    {
      kind: 'lines',
      title: 'Time to reload',
      description: 'What building and swapping a catalog takes. Calls are answered meanwhile.',
      unit: 's',
      queries: quantiles('portolan_reload_duration_seconds', ROUTERS),
    },
    {
      kind: 'lines',
      title: 'Reloads that failed',
      description:
        'Catalogs that did not build; the last good one is served. Not 0: a bug; its stack is in the log.',
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
