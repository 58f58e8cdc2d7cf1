/** The page about a cluster: its gateways, their problems, and all servers, including those that no gateway selects. */
import type { ConsoleClusterServer, ConsoleGateway } from '../../core/console/shapes.ts'
import { addressOf, lagging } from '../cluster.ts'
import { type ClusterProblem, clusterProblems } from '../cluster-problems.ts'
import { ago, count, plain } from '../format.ts'
import { useStore } from '../store.ts'
import { Command, Empty } from './parts.tsx'
import { type Column, Filter, shownOf, sorted, Table } from './tables.tsx'

const MAX_PROBLEMS = 50
const MAX_ROWS = 500

export function Gateways() {
  const { now, gateway, cluster: known } = useStore()
  const cluster = known?.value.cluster
  if (!cluster) return null
  const { gateways } = cluster
  const wrong = clusterProblems(cluster)
  return (
    <>
      <h1>Gateways</h1>
      {gateways.length === 0 ? (
        <NoGateways />
      ) : (
        <Table
          name="gateways"
          columns={GATEWAYS}
          rows={gateways}
          sort=""
          keyOf={keyOf}
          isDown={({ ready }) => !ready}
        />
      )}
      <section aria-labelledby="attention">
        <h2 id="attention">Needs attention</h2>
        {wrong.length === 0 ? (
          <p class="quiet">No gateway or server has a problem.</p>
        ) : (
          <Attention wrong={wrong} now={now.value} />
        )}
      </section>
      {gateway === undefined && <Servers servers={cluster.servers} />}
    </>
  )
}

function NoGateways() {
  return (
    <Empty>
      <p>
        There is no McpGateway in the namespaces that this operator watches. Create a server and a gateway:
      </p>
      <Command text="kubectl apply -f examples/cluster/" />
    </Empty>
  )
}

const GATEWAYS: readonly Column<ConsoleGateway>[] = [
  { key: 'namespace', title: 'Namespace', cell: ({ namespace }) => plain(namespace) },
  {
    key: 'name',
    title: 'Gateway',
    cell: gateway => <a href={addressOf(keyOf(gateway))}>{plain(gateway.name)}</a>,
  },
  {
    key: 'ready',
    title: 'Ready',
    cell: ({ ready, conditions }) => (
      <Readiness ready={ready} reason={conditions.find(({ type }) => type === 'Ready')?.reason} />
    ),
  },
  {
    key: 'selected',
    title: 'Servers ready',
    right: true,
    cell: ({ servers: { ready, selected } }) => `${count(ready)} of ${count(selected)}`,
  },
  { key: 'tools', title: 'Tools', right: true, cell: ({ tools }) => count(tools) },
  {
    key: 'tokens',
    title: 'Tokens',
    right: true,
    cell: ({ tokens: { direct, exposed } }) =>
      exposed === undefined ? '–' : `${count(exposed)} instead of ${count(direct ?? 0)}`,
  },
  { key: 'routers', title: 'Routers', cell: gateway => <Routers gateway={gateway} /> },
  {
    key: 'meaning',
    title: 'Search by meaning',
    cell: ({ search }) =>
      search === undefined ? (
        '–'
      ) : (
        <>
          {search.semantic === 'off' ? <span class="bad">off</span> : 'on'}
          {search.reason !== undefined && <span class="sub">{plain(search.reason, 200)}</span>}
        </>
      ),
  },
]

function Routers({ gateway }: { gateway: ConsoleGateway }) {
  const { routers, generation } = gateway
  if (routers.length === 0) return <span class="bad">no router answers</span>
  const behind = lagging(gateway)
  if (behind.length === 0) return <>{count(routers.length)}, up to date</>
  return (
    <>
      {count(routers.length)},{' '}
      <span class="bad">
        {behind.length === 1 ? '1 is' : `${count(behind.length)} are`} behind generation {generation}
      </span>
      {behind.slice(0, 5).map(({ pod, generation: has }) => (
        <span key={pod} class="sub mono">
          {plain(pod, 100)}: {has ?? 'none yet'}
        </span>
      ))}
    </>
  )
}

function Readiness({ ready, reason }: { ready: boolean; reason: string | undefined }) {
  return ready ? (
    <span class="state ready">
      <span class="shape" aria-hidden="true">
        ●
      </span>
      ready
    </span>
  ) : (
    <span class="state failed">
      <span class="shape" aria-hidden="true">
        ▲
      </span>
      {plain(reason ?? 'not yet', 60)}
    </span>
  )
}

function Attention({ wrong, now }: { wrong: readonly ClusterProblem[]; now: number }) {
  return (
    <>
      <ul class="problems">
        {wrong.slice(0, MAX_PROBLEMS).map(({ kind, namespace, name, reason, message, since, command }) => (
          <li key={`${kind} ${namespace}/${name} ${reason} ${message}`}>
            <div>
              {kind} <span class="mono">{plain(`${namespace}/${name}`)}</span>{' '}
              <span class="bad">{plain(reason, 100)}</span>
              {since !== undefined && <span class="note"> for {ago(since, now)}</span>}
            </div>
            <div class="message">{plain(message, 500)}</div>
            <Command text={command} />
          </li>
        ))}
      </ul>
      {wrong.length > MAX_PROBLEMS && <p class="note">and {count(wrong.length - MAX_PROBLEMS)} more</p>}
    </>
  )
}

const SERVERS: readonly Column<ConsoleClusterServer>[] = [
  { key: 'namespace', title: 'Namespace', by: keyOf, cell: ({ namespace }) => plain(namespace) },
  { key: 'name', title: 'Server', by: ({ name }) => name, cell: ({ name }) => plain(name) },
  {
    key: 'ready',
    title: 'Ready',
    by: ({ ready }) => Number(ready),
    cell: ({ ready, conditions }) => (
      <Readiness ready={ready} reason={conditions.find(({ type }) => type === 'Ready')?.reason} />
    ),
  },
  {
    key: 'replicas',
    title: 'Instances',
    right: true,
    cell: ({ replicas }) => (replicas ? `${replicas.ready ?? 0} of ${replicas.wanted ?? 0}` : '–'),
  },
  {
    key: 'tools',
    title: 'Tools',
    right: true,
    by: ({ tools = 0 }) => tools,
    cell: ({ tools }) => (tools === undefined ? '–' : count(tools)),
  },
  {
    key: 'tokens',
    title: 'Tokens',
    right: true,
    by: ({ tokens = 0 }) => tokens,
    cell: ({ tokens }) => (tokens === undefined ? '–' : count(tokens)),
  },
]

function Servers({ servers }: { servers: readonly ConsoleClusterServer[] }) {
  const { route } = useStore()
  const { sort = 'namespace', filter = '' } = route.value.chosen
  const wanted = servers.filter(server => keyOf(server).includes(filter.toLowerCase()))
  if (servers.length === 0) return null
  return (
    <section aria-labelledby="all-servers">
      <div class="title">
        <h2 id="all-servers">Servers of the cluster</h2>
        <Filter of="servers" />
        <span class="note" role="status">
          {shownOf(wanted.length, servers.length)}
        </span>
      </div>
      <Table
        name="cluster-servers"
        columns={SERVERS}
        rows={sorted(wanted, SERVERS, sort).slice(0, MAX_ROWS)}
        sort={sort}
        keyOf={keyOf}
        isDown={({ ready }) => !ready}
      />
      {wanted.length > MAX_ROWS && (
        <p class="note">and {count(wanted.length - MAX_ROWS)} more: filter them</p>
      )}
    </section>
  )
}

function keyOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`
}
