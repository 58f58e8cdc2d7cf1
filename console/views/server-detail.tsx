/** The page about one server: its states in the last hour, its tools by cost, and the tabs of server-tabs.tsx. */
import { useState } from 'preact/hooks'
import type { ConsoleAction, ConsoleServer, ConsoleTool } from '../../core/console/shapes.ts'
import { ago, clock, count, counted, plain } from '../format.ts'
import { listsVersion } from '../live.ts'
import { useStore } from '../store.ts'
import { Commands, Logs } from './kubectl.tsx'
import { Bar, Content, Empty, Link, State, Tabs, ToolLink, useLoaded } from './parts.tsx'
import { Limits, Manifest, Stderr, UnapprovedChanges } from './server-tabs.tsx'

const HOUR_MS = 3_600_000

export function ServerDetail({ name }: { name: string }) {
  const { known, route, choose } = useStore()
  const server = known.value.servers.get(name)
  const whole = known.value.state?.whole ?? false
  const isCluster = known.value.state?.placement === 'cluster'
  if (!server)
    return (
      <>
        <h1>{plain(name, 100)}</h1>
        <Empty>
          <p>
            There is no such server here. <Link page="servers">All servers</Link>
          </p>
        </Empty>
      </>
    )
  const tabs = [
    ['tools', 'Tools'],
    ...(whole ? [['log', 'Log'] as const] : []),
    ['limits', 'Limits'],
    ...(whole ? [['manifest', 'Manifest'] as const] : []),
    ...(server.changes ? [['changes', 'Changes'] as const] : []),
  ] as const
  const { tab: asked = 'tools' } = route.value.chosen
  const tab = tabs.some(([key]) => key === asked) ? asked : 'tools'
  return (
    <>
      <p class="crumb">
        <Link page="servers">Servers</Link>
      </p>
      <Header server={server} />
      <Strip server={server} />
      <Tabs tabs={tabs} current={tab} onTab={next => choose({ tab: next })} />
      <div role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {tab === 'tools' && <Tools server={server} />}
        {tab === 'log' && (isCluster ? <Logs server={server} /> : <Stderr server={server} />)}
        {tab === 'limits' && <Limits server={server} />}
        {tab === 'manifest' && <Manifest name={name} />}
        {tab === 'changes' && <UnapprovedChanges server={server} />}
      </div>
    </>
  )
}

function Header({ server }: { server: ConsoleServer }) {
  const { name, title, description, state, reason, message, since, transport, protocol, list } = server
  const { now, known } = useStore()
  const actions = known.value.state?.actions ?? []
  return (
    <header class="about">
      <div class="title">
        <h1>{plain(name)}</h1>
        <State of={state} />
        {since !== undefined && <span class="note">for {ago(since, now.value)}</span>}
        {actions.length > 0 && <Actions server={server} />}
        {known.value.state?.placement === 'cluster' && known.value.state.whole && <Commands name={name} />}
      </div>
      {(title !== undefined || description !== undefined) && (
        <p>{plain([title, description].filter(Boolean).join(': '), 500)}</p>
      )}
      {reason !== undefined && (
        <p class="problem" role="alert">
          <span class="bad">{plain(reason)}</span> {plain(message, 1_000)}
        </p>
      )}
      <p class="note">
        {transport}
        {protocol !== undefined && ` · MCP ${protocol}`} · {counted(server.tools, 'tool')},{' '}
        {count(server.tokens)} tokens · {counted(server.resources, 'resource')} ·{' '}
        {counted(server.prompts, 'prompt')}
        {actions.length > 0 &&
          ` · list read ${list.at === undefined ? 'never' : `${ago(list.at, now.value)} ago`}`}
        {list.cached && ', by an earlier run'}
      </p>
    </header>
  )
}

const LABELS = { wake: 'Wake', restart: 'Restart', read: 'Read again' } as const

function Actions({ server: { name, state } }: { server: ConsoleServer }) {
  const { post } = useStore()
  const [doing, setDoing] = useState<string>()
  const [problem, setProblem] = useState<string>()
  const act = (action: 'wake' | 'restart' | 'read') => {
    setDoing(action)
    setProblem(undefined)
    post('action', { action, server: name } satisfies ConsoleAction)
      .catch((error: Error) => setProblem(error.message))
      .finally(() => setDoing(undefined))
  }
  const cannot = state === 'suspended' || state === 'notAccepted'
  return (
    <span class="actions">
      {(['wake', 'restart', 'read'] as const).map(action => (
        <button
          key={action}
          type="button"
          disabled={cannot || doing !== undefined || (action === 'wake' && state === 'ready')}
          onClick={() => act(action)}
        >
          {doing === action ? '…' : LABELS[action]}
        </button>
      ))}
      {problem !== undefined && (
        <span class="bad" role="alert">
          {plain(problem, 300)}
        </span>
      )}
    </span>
  )
}

/** A bar that shows the states of the last hour. */
function Strip({ server: { history } }: { server: ConsoleServer }) {
  const { now } = useStore()
  const hourAgo = now.value - HOUR_MS
  if (history.length === 0) return null
  const parts = history.map(({ state, at }, place) => {
    const end = history[place + 1]?.at ?? now.value
    const from = Math.max(at, hourAgo)
    return {
      state,
      at,
      x: ((from - hourAgo) / HOUR_MS) * 100,
      width: (Math.max(0, end - from) / HOUR_MS) * 100,
    }
  })
  const summary = history.map(({ state, at }) => `${clock(at)} ${state}`).join(', ')
  return (
    <figure class="strip">
      <svg
        viewBox="0 0 100 6"
        preserveAspectRatio="none"
        role="img"
        aria-label={`States of the last hour: ${summary}`}
      >
        {parts.map(({ state, at, x, width }) => (
          <rect key={`${at} ${state}`} class={state} x={x} width={Math.max(width, 0.3)} height="6" />
        ))}
      </svg>
      <figcaption>
        <span>an hour ago</span>
        <span>
          {history.length > 1
            ? `${counted(history.length - 1, 'change')}; last at ${clock(history.at(-1)?.at ?? 0)}`
            : 'no change'}
        </span>
        <span>now</span>
      </figcaption>
    </figure>
  )
}

function Invalid({ server: { invalid, moreInvalid } }: { server: ConsoleServer }) {
  if (invalid.length === 0) return null
  return (
    <ul class="problems">
      {invalid.map(({ name, reason }) => (
        <li key={`${name} ${reason}`}>
          <span class="bad">{plain(name ?? '?', 100)}</span> <span class="message">{plain(reason, 300)}</span>
        </li>
      ))}
      {moreInvalid !== undefined && <li class="note">and {count(moreInvalid)} more</li>}
    </ul>
  )
}

function Tools({ server }: { server: ConsoleServer }) {
  const { name } = server
  const { get, known } = useStore()
  const loaded = useLoaded('tools', () => get<ConsoleTool[]>('tools'), listsVersion(known.value.state))
  return (
    <>
      <Invalid server={server} />
      <Content of={loaded}>
        {all => {
          const ofServer = all.filter(({ server }) => server === name).toSorted((a, b) => b.tokens - a.tokens)
          const most = ofServer[0]?.tokens ?? 1
          if (ofServer.length === 0)
            return (
              <Empty>
                <p>No tools of this server are known.</p>
              </Empty>
            )
          return (
            <table class="costs">
              <thead>
                <tr>
                  <th scope="col">Tool</th>
                  <th scope="col" class="right">
                    Tokens
                  </th>
                  <th scope="col" class="share">
                    Compared with the largest
                  </th>
                </tr>
              </thead>
              <tbody>
                {ofServer.map(({ path, summary, tokens, held }) => (
                  <tr key={path}>
                    <td>
                      <ToolLink path={path} />
                      {held && <span class="bad"> held</span>}
                      <span class="sub line">{plain(summary, 200)}</span>
                    </td>
                    <td class="right">{count(tokens)}</td>
                    <td class="share">
                      <Bar value={tokens} most={most} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }}
      </Content>
    </>
  )
}
