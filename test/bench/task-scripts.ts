/** The tasks of docs/bench-code.md, written by hand: the calls of an agent without code mode, turn by turn, and the scripts that it writes instead. */
import type { JsonObject } from '../../core/json.ts'
import { REGIONS } from './task-servers.ts'

export type ToolCall = { tool: string; args: JsonObject }

export type AgentTask = {
  id: string
  what: string
  /** The agent's search queries; each is searched once. */
  searches: string[]
  /** Calls of one turn do not depend on each other, and are made at the same time. */
  turns: ToolCall[][]
  /** The scripts that the agent writes, in order. All but the last one have a mistake. */
  scripts: string[]
}

const tickets = (args: JsonObject): ToolCall => ({
  tool: 'ticketing:list_tickets',
  args: { project: 'API', ...args },
})
const times = <T>(length: number, make: (n: number) => T): T[] => Array.from({ length }, (_, n) => make(n))
const FIND_TICKETS = 'list tickets of a project'

const JOIN = `const tickets = await tools.ticketing.list_tickets({ project: 'API', limit: 50 })
const owners = await Promise.all(tickets.map(({ component }) => tools.ownership.get_component_owner({ component })))
return Object.entries(Object.groupBy(owners, ({ team }) => team)).map(([team, all]) => team + ': ' + all.length)`

export const TASKS: AgentTask[] = [
  {
    id: 'T1',
    what: 'join 50 tickets with the owner of each from a second server, count by team',
    searches: [FIND_TICKETS, 'get owner of a component'],
    turns: [
      [tickets({ limit: 50 })],
      times(50, n => ({ tool: 'ownership:get_component_owner', args: { component: `component-${n % 12}` } })),
    ],
    scripts: [JOIN],
  },
  {
    id: 'T2',
    what: 'find 5 of 10,000 rows',
    searches: ['query rows of sales by day'],
    turns: [[{ tool: 'warehouse:query_sales_rows', args: { day: '2026-11-01' } }]],
    scripts: [
      "const rows = await tools.warehouse.query_sales_rows({ day: '2026-11-01' })\nreturn rows.filter(({ stock }) => stock === 0)",
    ],
  },
  {
    id: 'T3',
    what: 'count open tickets over 20 pages of 100',
    searches: [FIND_TICKETS],
    turns: times(20, n => [tickets({ limit: 100, page: n + 1 })]),
    scripts: [
      "let open = 0\nfor (let page = 1; ; page++) {\n  const all = await tools.ticketing.list_tickets({ project: 'API', limit: 100, page })\n  if (all.length === 0) return open\n  open += all.filter(({ state }) => state === 'open').length\n}",
    ],
  },
  {
    id: 'T4',
    what: 'ask 8 servers the same, and compare',
    searches: ['get version of the shop deployed in region'],
    turns: [REGIONS.map(region => ({ tool: `deploy-${region}:get_shop_deployment`, args: {} }))],
    scripts: [
      `const regions = ${JSON.stringify(REGIONS)}
const all = await Promise.all(regions.map(region => tools['deploy-' + region].get_shop_deployment({})))
return all.filter(({ version }) => version !== '4.2.0').map(({ region, version }) => region + ' ' + version)`,
    ],
  },
  {
    id: 'T5',
    what: 'create 10 tickets, of which 2 fail',
    searches: ['create a ticket in a project'],
    turns: [
      times(10, n => ({
        tool: 'ticketing:create_ticket',
        args: { project: 'API', title: `Rotate key ${n}` },
      })),
    ],
    scripts: [
      "const titles = Array.from({ length: 10 }, (_, n) => 'Rotate key ' + n)\nconst all = await Promise.allSettled(titles.map(title => tools.ticketing.create_ticket({ project: 'API', title })))\nreturn all.map(({ value, reason }, n) => value?.id ?? titles[n] + ': ' + reason.message)",
    ],
  },
  {
    id: 'T6',
    what: 'poll a job until it is done, at the sixth time',
    searches: ['get state of export job'],
    turns: times(6, () => [{ tool: 'jobs:get_export_job', args: { id: 'ID' } }]),
    scripts: [
      "for (;;) {\n  const job = await tools.jobs.get_export_job({ id: 'ID' })\n  if (job.state === 'done') return job.file\n  await sleep(200)\n}",
    ],
  },
  {
    id: 'T7',
    what: 'one call',
    searches: ['get owner of a component'],
    turns: [[{ tool: 'ownership:get_component_owner', args: { component: 'component-3' } }]],
    scripts: ["return tools.ownership.get_component_owner({ component: 'component-3' })"],
  },
  {
    id: 'T8',
    what: 'read a document that the model must read whole',
    searches: ['read handbook page for people on call'],
    turns: [[{ tool: 'handbook:read_handbook_page', args: { title: 'Errors' } }]],
    scripts: ["return tools.handbook.read_handbook_page({ title: 'Errors' })"],
  },
  {
    id: 'T9',
    what: 'T1 by a script that is wrong twice',
    searches: [FIND_TICKETS, 'get owner of a component'],
    turns: [
      [tickets({ limit: 50 })],
      times(50, n => ({ tool: 'ownership:get_component_owner', args: { component: `component-${n % 12}` } })),
    ],
    scripts: [
      JOIN.replace('tools.ownership.get_component_owner', 'tools.ownership.owner_of'),
      JOIN.replace('await tools.ticketing', 'tools.ticketing'),
      JOIN,
    ],
  },
]
