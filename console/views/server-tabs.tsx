/** Tabs of a server's page: its standard error, its limits, its manifest, and changes of its tools that are not approved. */
import { useEffect, useState } from 'preact/hooks'
import type { ConsoleAction, ConsoleChanges, ConsoleServer } from '../../core/console/shapes.ts'
import { ago, count, counted, duration, plain } from '../format.ts'
import { useStore } from '../store.ts'
import { Changes } from './changes.tsx'
import { Command, Content, Empty, useLoaded } from './parts.tsx'

export function Stderr({ server: { name, transport, state, recent } }: { server: ConsoleServer }) {
  const { get, now } = useStore()
  const [filter, setFilter] = useState('')
  // Reloaded every two seconds, and at once when the state or the number of calls changes.
  const loaded = useLoaded(name, () => get<{ lines: string[] }>('stderr', { server: name }))
  const reloadKey = `${state} ${recent.calls} ${Math.floor(now.value / 2_000)}`
  useEffect(() => loaded.reload(), [reloadKey])
  return (
    <Content of={loaded}>
      {({ lines }) => {
        if (lines.length === 0)
          return (
            <Empty>
              <p>
                {transport === 'stdio'
                  ? 'The server has written nothing to its standard error since the gateway started.'
                  : 'A remote server writes its log where it runs.'}
              </p>
            </Empty>
          )
        const wanted = lines.filter(line => line.toLowerCase().includes(filter.toLowerCase()))
        return (
          <>
            <input
              type="search"
              aria-label="Search the log"
              placeholder="Search"
              value={filter}
              onInput={event => setFilter(event.currentTarget.value)}
            />
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard */}
            <pre class="lines" tabIndex={0}>
              {wanted.map(line => plain(line, 2_000)).join('\n')}
            </pre>
          </>
        )
      }}
    </Content>
  )
}

export function Limits({ server }: { server: ConsoleServer }) {
  const { limits, load, recent, sessions } = server
  const { now } = useStore()
  const rows: [string, string, string][] = [
    ['Calls in progress', `${count(load.active)} of ${count(limits.concurrency)}`, 'spec.limits.concurrency'],
    ['Calls waiting for a slot', count(load.waiting), ''],
    [
      'Circuit breaker',
      load.breaker.state === 'closed'
        ? 'closed: calls pass'
        : `${load.breaker.state}: ${counted(load.breaker.failures, 'failure')} in a row`,
      '',
    ],
    ['Call timeout', duration(limits.callTimeoutMs), 'spec.limits.callTimeout'],
    ['Start timeout', duration(limits.startTimeoutMs), 'spec.limits.startTimeout'],
    ['Largest result', `${count(limits.maxResultBytes)} bytes`, 'spec.limits.maxResultBytes'],
    ['Sessions', sessions, 'spec.sessions'],
    [
      'Calls in the last five minutes',
      `${count(recent.calls)}, ${count(recent.errors)} failed, p95 ${duration(recent.p95Ms)}`,
      '',
    ],
    ['Last call', load.lastCallAt === undefined ? 'none yet' : `${ago(load.lastCallAt, now.value)} ago`, ''],
  ]
  return (
    <table class="limits">
      <tbody>
        {rows.map(([what, value, field]) => (
          <tr key={what}>
            <th scope="row">{what}</th>
            <td>{value}</td>
            <td>{field !== '' && <code>{field}</code>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export function Manifest({ name }: { name: string }) {
  const { get } = useStore()
  const loaded = useLoaded(name, () => get<{ yaml?: string }>('manifest', { server: name }))
  return (
    <Content of={loaded}>
      {({ yaml }) => (
        <>
          <p class="note">Values of env and headers are hidden; Secrets are shown by their names.</p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard */}
          <pre tabIndex={0}>
            {plain(yaml ?? 'This server is not run here: its manifest was not accepted.')}
          </pre>
        </>
      )}
    </Content>
  )
}

/** The changes that wait for approval. Approving sends the digest that is shown, so that changes made since then are not approved. */
export function UnapprovedChanges({ server: { name, changes } }: { server: ConsoleServer }) {
  const { get, post, choose } = useStore()
  const [problem, setProblem] = useState<string>()
  const loaded = useLoaded(`${name} ${changes?.digest}`, () =>
    get<ConsoleChanges>('changes', { server: name }),
  )
  const approve = (digest: string) =>
    void post('action', { action: 'approve', server: name, digest } satisfies ConsoleAction)
      .then(() => choose({ tab: 'tools' }))
      .catch((error: Error) => setProblem(error.message))
  return (
    <Content of={loaded}>
      {({ digest, changes: tools }) => (
        <>
          <p>
            These tools differ from the approved ones. Read them before you approve: a description tells
            agents what to do.
          </p>
          <Changes of={tools} />
          {digest !== undefined && (
            <div class="actions">
              <button type="button" class="primary" onClick={() => approve(digest)}>
                Approve exactly this
              </button>
            </div>
          )}
          {problem !== undefined && (
            <p class="problem" role="alert">
              {plain(problem)}
            </p>
          )}
          <Command
            text={`npx portolan approve ${name}${digest === undefined ? '' : ` --digest ${digest.slice(0, 12)}`}`}
          />
        </>
      )}
    </Content>
  )
}
