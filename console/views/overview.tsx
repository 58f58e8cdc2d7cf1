/** The start page: what the tools cost, what needs attention, and how to connect. */
import type { ConsoleGateway, ConsolePoint, ConsoleState } from '../../core/console/shapes.ts'
import { sum } from '../../core/sum.ts'
import { count, counted, plain, saving } from '../format.ts'
import { pointsOf } from '../points.ts'
import { type ServerProblem, serverProblems } from '../server-problems.ts'
import { useStore } from '../store.ts'
import { Bar, Command, Empty, Link } from './parts.tsx'
import { Spark } from './spark.tsx'

const SPARK_MINUTES = 15
/** A point is 5 s, so a bar is half a minute. */
const POINTS_PER_BAR = 6

export function Overview() {
  const { known } = useStore()
  const { state, servers, points } = known.value
  if (!state) return null
  const wrong = serverProblems(servers.values(), state.problems)
  if (servers.size === 0) return <FirstStart wrong={wrong} />
  return (
    <>
      <h1>Overview</h1>
      <Cost state={state} />
      <section aria-labelledby="attention">
        <h2 id="attention">Needs attention</h2>
        <Attention wrong={wrong} />
      </section>
      {state.whole && (
        <section aria-labelledby="recent">
          <h2 id="recent">Calls of the last {SPARK_MINUTES} minutes</h2>
          <Recent points={points} />
        </section>
      )}
      <Connect />
    </>
  )
}

function Cost({ state }: { state: ConsoleState }) {
  const { totals, tokens, profile, served } = state
  const here = tokens.profiles[profile] ?? 0
  // The profile `direct` costs as much as the servers themselves, plus longer names, so it is shown only where it is served.
  const shown = Object.entries(tokens.profiles).filter(([name]) => name !== 'direct' || served.includes(name))
  const most = Math.max(tokens.direct, ...shown.map(([, cost]) => cost))
  return (
    <section class="cost" aria-label="Cost">
      <p class="lead">
        {counted(totals.tools, 'tool')} of {counted(totals.servers, 'server')}. Directly, they cost{' '}
        <b>{count(tokens.direct)}</b> tokens in each request; through this gateway <b>{count(here)}</b>,{' '}
        {saving(tokens.direct, here)}.
      </p>
      <div class="compare">
        <div>
          <span>directly</span>
          <Bar value={tokens.direct} most={most} quiet />
          <span class="num">{count(tokens.direct)}</span>
          <span />
        </div>
        {shown.map(([name, cost]) => (
          <div key={name}>
            <span>{name === profile ? <b>{name}</b> : <span class="quiet">{name}</span>}</span>
            <Bar value={cost} most={most} quiet={name !== profile} />
            <span class="num">{count(cost)}</span>
            <span class="note">{!served.includes(name) && 'not served here'}</span>
          </div>
        ))}
      </div>
      <p class="note">
        Tokens of what an agent lists (o200k), by profile.{' '}
        <Link page="servers" chosen={{ sort: '-tokens' }}>
          Which servers cost most
        </Link>
      </p>
    </section>
  )
}

function Attention({ wrong }: { wrong: readonly ServerProblem[] }) {
  if (wrong.length === 0) return <p class="quiet">No server has a problem.</p>
  return (
    <ul class="problems">
      {wrong.map(({ server, reason, message, todo, tab }) => (
        <li key={`${server} ${reason} ${message}`}>
          <div>
            {server !== undefined && (
              <Link page="servers" item={server} chosen={tab === undefined ? {} : { tab }}>
                {plain(server)}
              </Link>
            )}{' '}
            <span class="bad">{plain(reason)}</span>
          </div>
          <div class="message">{plain(message, 500)}</div>
          <div class="todo">
            {server !== undefined && tab !== undefined ? (
              <Link page="servers" item={server} chosen={{ tab }}>
                {todo}
              </Link>
            ) : (
              plain(todo)
            )}
          </div>
        </li>
      ))}
    </ul>
  )
}

function Recent({ points }: { points: readonly ConsolePoint[] }) {
  const last = pointsOf('15m', points, [])
  const all = ({ calls }: ConsolePoint) => sum(Object.values(calls))
  const wrong = (point: ConsolePoint) => all(point) - (point.calls.ok ?? 0) - (point.calls.cancelled ?? 0)
  const bars = Array.from({ length: (SPARK_MINUTES * 60) / 5 / POINTS_PER_BAR }, (_none, at) => {
    const end = last.length - ((SPARK_MINUTES * 60) / 5 - (at + 1) * POINTS_PER_BAR)
    return last.slice(Math.max(0, end - POINTS_PER_BAR), Math.max(0, end))
  })
  const values = bars.map(bar => sum(bar.map(all)))
  const bad = bars.map(bar => sum(bar.map(wrong)))
  const [total, failed] = [sum(values), sum(bad)]
  const summary = `${counted(total, 'call')}, ${failed === 0 ? 'none' : count(failed)} with an error`
  return (
    <div class="recent">
      <Spark values={values} bad={bad} label={summary} />
      <p class="note">
        {summary}. <Link page="log">Log</Link>
        {failed > 0 && (
          <>
            {' · '}
            <Link page="log" chosen={{ outcome: 'errors' }}>
              Only errors
            </Link>
          </>
        )}
      </p>
    </div>
  )
}

function Connect() {
  const { cluster, gateway } = useStore()
  const place = cluster?.value.cluster?.gateways.find(one => `${one.namespace}/${one.name}` === gateway)
  if (place) return <ConnectInCluster {...place} />
  const url = new URL('mcp', location.href.replace(/[?#].*/, '')).href
  return <ConnectLines url={url} />
}

/** Agents in the cluster connect to the Service; from outside, they need a forwarded port. */
function ConnectInCluster({ namespace, name, url }: ConsoleGateway) {
  return (
    <>
      {url !== undefined && (
        <section aria-labelledby="in-cluster">
          <h2 id="in-cluster">Connect agents in the cluster</h2>
          <Command text={url} />
        </section>
      )}
      <section aria-labelledby="forwarded">
        <h2 id="forwarded">From your machine, through a forwarded port</h2>
        <Command text={`kubectl -n ${namespace} port-forward service/${name}-gateway 8080:80`} />
      </section>
      <ConnectLines url="http://127.0.0.1:8080/mcp" />
    </>
  )
}

function ConnectLines({ url }: { url: string }) {
  const lines: [string, string][] = [
    ['Claude Code', `claude mcp add --transport http portolan ${url}`],
    ['VS Code', `code --add-mcp '${JSON.stringify({ name: 'portolan', type: 'http', url })}'`],
    ['Codex', `codex mcp add portolan --url ${url}`],
    ['Gemini CLI', `gemini mcp add --transport http portolan ${url}`],
    ['mcp.json', JSON.stringify({ mcpServers: { portolan: { url } } })],
  ]
  return (
    <section aria-labelledby="connect">
      <h2 id="connect">Connect</h2>
      <dl class="connect">
        {lines.map(([client, line]) => (
          <div key={client}>
            <dt>{client}</dt>
            <dd>
              <Command text={line} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function FirstStart({ wrong }: { wrong: readonly ServerProblem[] }) {
  const { cluster, gateway } = useStore()
  return (
    <>
      <h1>Overview</h1>
      <Empty>
        {cluster ? (
          <>
            <p>
              This gateway selects no server. Create one in its namespace, or change spec.servers.selector:
            </p>
            <Command text={`kubectl -n ${gateway?.split('/')[0]} get mcpservers --show-labels`} />
          </>
        ) : (
          <>
            <p>
              This gateway has no servers yet. Give it the configuration that your client has, or a folder of
              manifests:
            </p>
            <Command text="npx portolan up ~/.cursor/mcp.json" />
            <Command text="npx portolan up servers/" />
          </>
        )}
      </Empty>
      {wrong.length > 0 && <Attention wrong={wrong} />}
    </>
  )
}
