/** All servers in a table. The URL has its filter and its order. */
import type { ConsoleServer } from '../../core/console/shapes.ts'
import { ago, count, duration, plain } from '../format.ts'
import { isDown } from '../server-problems.ts'
import { useStore } from '../store.ts'
import { Empty, Link, State } from './parts.tsx'
import { type Column, Filter, shownOf, Table } from './tables.tsx'

const UNKNOWN = '–'
/** The states, those that need most attention first. */
const ORDER: readonly ConsoleServer['state'][] = [
  'failed',
  'authRequired',
  'notAccepted',
  'starting',
  'ready',
  'asleep',
  'suspended',
]

export function Servers() {
  const { known, route, now } = useStore()
  const { sort = 'name', filter = '' } = route.value.chosen
  const columns = columnsAt(now.value)
  const wanted = filter.toLowerCase()
  const all = [...known.value.servers.values()]
  const rows = all.filter(server => textOf(server).includes(wanted))
  return (
    <>
      <div class="title">
        <h1>Servers</h1>
        <Filter of="servers" />
        <span class="note" role="status">
          {shownOf(rows.length, all.length)}
        </span>
      </div>
      {rows.length === 0 ? (
        <Empty>
          <p>
            {all.length === 0 ? 'There are no servers yet.' : `No server matches "${plain(filter, 100)}".`}
          </p>
        </Empty>
      ) : (
        <Table
          name="servers"
          columns={columns}
          rows={rows}
          sort={sort}
          keyOf={({ name }) => name}
          isDown={isDown}
        />
      )}
    </>
  )
}

const ABOUT: readonly Column<ConsoleServer>[] = [
  {
    key: 'name',
    title: 'Server',
    by: ({ name }) => name,
    cell: ({ name, title }) => (
      <>
        <Link page="servers" item={name}>
          {plain(name)}
        </Link>
        {title !== undefined && title.toLowerCase() !== name && <span class="sub">{plain(title, 80)}</span>}
      </>
    ),
  },
  {
    key: 'state',
    title: 'State',
    by: ({ state }) => ORDER.indexOf(state),
    cell: ({ state }) => <State of={state} />,
  },
  {
    key: 'transport',
    title: 'Transport',
    by: ({ transport }) => transport,
    cell: ({ transport }) => transport,
  },
  {
    key: 'protocol',
    title: 'Protocol',
    by: ({ protocol = '' }) => protocol,
    cell: ({ protocol }) => protocol ?? UNKNOWN,
  },
  {
    key: 'tools',
    title: 'Tools',
    right: true,
    by: ({ tools }) => tools,
    cell: server => (isRead(server) ? count(server.tools) : UNKNOWN),
  },
  {
    key: 'tokens',
    title: 'Tokens',
    right: true,
    by: ({ tokens }) => tokens,
    cell: server => (isRead(server) ? count(server.tokens) : UNKNOWN),
  },
]

function columnsAt(now: number): Column<ConsoleServer>[] {
  return [
    ...ABOUT,
    {
      key: 'calls',
      title: 'Calls/5 min',
      right: true,
      by: ({ recent }) => recent.calls,
      cell: ({ recent }) => (
        <>
          {recent.calls === 0 ? UNKNOWN : count(recent.calls)}
          {recent.errors > 0 && <span class="bad"> ▲{count(recent.errors)}</span>}
        </>
      ),
    },
    {
      key: 'p95',
      title: 'p95',
      right: true,
      by: ({ recent }) => recent.p95Ms ?? 0,
      cell: ({ recent }) => duration(recent.p95Ms),
    },
    {
      key: 'age',
      title: 'List read',
      right: true,
      by: ({ list }) => now - (list.at ?? 0),
      cell: ({ list }) => ago(list.at, now),
    },
    {
      key: 'reason',
      title: 'Reason',
      cell: ({ reason, message }) =>
        reason !== undefined && (
          <span title={plain(message, 500)}>
            <span class="bad">{plain(reason)}</span> {plain(message, 120)}
          </span>
        ),
    },
  ]
}

/** Whether the list of tools was read. In a cluster it is not known when, but then the protocol is known. */
function isRead({ list, protocol }: ConsoleServer): boolean {
  return list.at !== undefined || protocol !== undefined
}

/** The text, in lower case, in which the filter searches. */
function textOf({ name, title, transport, state, category }: ConsoleServer): string {
  return `${name} ${title ?? ''} ${transport} ${state} ${category ?? ''}`.toLowerCase()
}
