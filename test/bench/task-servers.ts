/** The servers that the tasks of agents call, in addition to the recorded ones. Their answers are deterministic and of realistic size. */
import type { JsonObject } from '../../core/json.ts'
import type { FixtureServer } from '../meta/fixture.ts'

export const REGIONS = ['frankfurt', 'dublin', 'oslo', 'madrid', 'tokyo', 'sydney', 'ohio', 'oregon']
const TEAMS = ['core', 'web', 'data', 'mobile', 'platform']
const COMPONENTS = 12
const ISSUES = 2_000
const ROWS = 10_000
/** The job is done at this poll. */
const POLLS = 6

type Tool = { name: string; description: string; properties: JsonObject; required?: string[] }

const text = (description: string): JsonObject => ({ type: 'string', description })
const number = (description: string): JsonObject => ({ type: 'integer', description })

export function taskServers(count: (text: string) => number): Record<string, FixtureServer> {
  const regions = REGIONS.map(region => [
    `deploy-${region}`,
    serverOf(count, [deployment], () =>
      json({
        region,
        version: region === 'oslo' ? '4.1.9' : '4.2.0',
        healthy: true,
        replicas: 6,
        image: `registry.example/shop:${region}`,
        since: '2026-11-01T04:12:00Z',
      }),
    ),
  ])
  return {
    ticketing: serverOf(count, ticketing, answerTicketing),
    ownership: serverOf(count, [owner], ({ component }) =>
      json(ownerOf(Number(String(component).slice(10)))),
    ),
    warehouse: serverOf(count, [query], () => json(rows())),
    jobs: serverOf(count, [job], jobStates()),
    handbook: serverOf(count, [page], () => article()),
    ...Object.fromEntries(regions),
  }
}

const ticketing: Tool[] = [
  {
    name: 'list_tickets',
    description: 'List the tickets of a project, newest first, with their component and state',
    properties: { project: text('Key of the project'), limit: number('At most 100'), page: number('From 1') },
    required: ['project'],
  },
  {
    name: 'create_ticket',
    description: 'Create a ticket in a project',
    properties: {
      project: text('Key of the project'),
      title: text('One line'),
      component: text('Name of the component'),
    },
    required: ['project', 'title'],
  },
]
const owner: Tool = {
  name: 'get_component_owner',
  description: 'Get the team and the people that own a component',
  properties: { component: text('Name of the component') },
  required: ['component'],
}
const query: Tool = {
  name: 'query_sales_rows',
  description: 'Query the rows of the table of sales by day, all columns',
  properties: { day: text('Such as 2026-11-01') },
  required: ['day'],
}
const job: Tool = {
  name: 'get_export_job',
  description: 'Get the state of an export job',
  properties: { id: text('Id of the job') },
  required: ['id'],
}
const page: Tool = {
  name: 'read_handbook_page',
  description: 'Read a page of the handbook for people on call',
  properties: { title: text('Title of the page') },
  required: ['title'],
}
const deployment: Tool = {
  name: 'get_shop_deployment',
  description: 'Get the version of the shop that is deployed in this region',
  properties: {},
}

function serverOf(
  count: (text: string) => number,
  tools: Tool[],
  answer: (args: JsonObject, tool: string) => string,
): FixtureServer {
  return {
    count,
    offers: {
      tools: tools.map(({ name, description, properties, required = [] }) => ({
        name,
        description,
        inputSchema: { type: 'object', properties, required },
      })),
    },
    answer: ({ params = {} }) => {
      const text = answer(params.arguments as JsonObject, String(params.name))
      const isError = text.startsWith('Error:')
      return { result: { content: [{ type: 'text', text }], ...(isError && { isError }) } }
    },
  }
}

function answerTicketing({ limit = 50, page: at = 1, title }: JsonObject, tool: string): string {
  if (tool === 'create_ticket')
    return /[37]$/.test(String(title))
      ? 'Error: the component of this ticket is archived: choose another'
      : json({
          id: `API-${9_000 + Number(String(title).split(' ').at(-1))}`,
          url: 'https://tickets.example/API',
        })
  const first = (Number(at) - 1) * Number(limit)
  const length = Math.max(0, Math.min(Number(limit), ISSUES - first))
  return json(Array.from({ length }, (_, n) => ticket(first + n)))
}

function ticket(n: number) {
  const component = `component-${n % COMPONENTS}`
  return {
    id: `API-${n}`,
    title: `The ${component} answers slowly when list ${n} has many entries`,
    state: n % 4 === 0 ? 'closed' : 'open',
    component,
    reporter: `user${n % 23}@example.com`,
    created: `2026-10-${String(1 + (n % 28)).padStart(2, '0')}T08:00:00Z`,
    labels: ['performance', n % 3 === 0 ? 'customer' : 'internal'],
  }
}

function ownerOf(n: number) {
  const team = TEAMS[n % TEAMS.length]
  return {
    component: `component-${n}`,
    team,
    lead: `lead-${team}@example.com`,
    channel: `#team-${team}`,
    escalation: `https://oncall.example/${team}`,
    tier: 1 + (n % 3),
  }
}

function rows() {
  return Array.from({ length: ROWS }, (_, n) => ({
    sku: `S${n}`,
    sold: (n * 7) % 50,
    stock: n % 2_000 === 77 ? 0 : 5 + (n % 90),
  }))
}

function jobStates(): (args: JsonObject) => string {
  const asked = new Map<string, number>()
  return ({ id }) => {
    const times = (asked.get(String(id)) ?? 0) + 1
    asked.set(String(id), times)
    return json({
      id,
      state: times % POLLS === 0 ? 'done' : 'running',
      progress: (times % POLLS) / POLLS,
      file: 'export.csv',
    })
  }
}

function article(): string {
  const line = (n: number) =>
    `${n}. Check the dashboard of the shop, compare the rate of errors with that of last week, and write what you found into the channel of the team before you change anything.`
  return Array.from({ length: 90 }, (_, n) => line(n + 1)).join('\n')
}

function json(value: unknown): string {
  return JSON.stringify(value)
}
