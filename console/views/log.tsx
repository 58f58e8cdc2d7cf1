/** The calls since the gateway started, newest first, updated as they happen. */
import { useState } from 'preact/hooks'
import type { ConsoleCall, ConsolePayload } from '../../core/console/shapes.ts'
import { clock, count, counted, duration, plain } from '../format.ts'
import { type LogLine, withScripts } from '../log-order.ts'
import { keyOf } from '../merge.ts'
import { useStore } from '../store.ts'
import { Content, Copy, Empty, ToolLink, useLoaded } from './parts.tsx'
import { Choice, Filter } from './tables.tsx'

const MAX_ROWS = 300
const MAX_CHOICES = 100
/** An agent's script can call reviewed scripts, but these call no others. */
const MAX_DEPTH = 2
/** Outcomes that are not failures. */
const GOOD: ReadonlySet<string> = new Set(['ok', 'cancelled'])

export function Log() {
  const { known, route } = useStore()
  const { chosen } = route.value
  const { calls: live, notShown } = known.value
  const [paused, setPaused] = useState<readonly ConsoleCall[]>()
  const calls = paused ?? live
  const wanted = withScripts(calls.filter(call => isWanted(call, chosen)))
  // Also an older call that a link opens.
  const drawn = wanted.filter(({ call }, at) => at < MAX_ROWS || keyOf(call) === chosen.call)
  return (
    <>
      <div class="title">
        <h1>Log</h1>
        <Filters calls={live} />
        <button
          type="button"
          aria-pressed={paused !== undefined}
          onClick={() => setPaused(paused ? undefined : live)}
        >
          {paused ? `Resume (${count(newerThan(live, paused))} new)` : 'Pause'}
        </button>
        <Export lines={wanted} />
      </div>
      <p class="note" role="status">
        {count(wanted.length)} of {count(calls.length)} calls
        {notShown > 0 && `, and ${count(notShown)} more that are not shown`}
      </p>
      {wanted.length === 0 ? (
        <Empty>
          <p>
            {calls.length === 0
              ? 'No agent has called anything since the gateway started.'
              : 'No call matches these filters.'}
          </p>
        </Empty>
      ) : (
        <Calls lines={drawn} />
      )}
      {wanted.length > drawn.length && (
        <p class="note">and {count(wanted.length - drawn.length)} more: filter them</p>
      )}
    </>
  )
}

function Calls({ lines }: { lines: readonly LogLine[] }) {
  const { known, route, choose } = useStore()
  const { run } = known.value
  const { call: open } = lines.find(({ call }) => keyOf(call) === route.value.chosen.call) ?? {}
  return (
    <div class="scroll">
      <table class="calls">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Tool</th>
            <th scope="col">Outcome</th>
            <th scope="col" class="right">
              Router
            </th>
            <th scope="col" class="right">
              Server
            </th>
            <th scope="col" class="right">
              Tokens
            </th>
            <th scope="col">Client</th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ call, depth }) => (
            <Row
              key={`${run} ${keyOf(call)}`}
              call={call}
              depth={depth}
              isOpen={call === open}
              onOpen={() => choose({ call: call === open ? '' : keyOf(call) })}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Row(props: { call: ConsoleCall; depth: number; isOpen: boolean; onOpen(): void }) {
  const { call, depth, isOpen, onOpen } = props
  const { at, meta, outcome, totalMs, upstreamMs, tokens, client, caller, session, hits, why, ran } = call
  return (
    <>
      <tr class={GOOD.has(outcome) ? '' : 'down'}>
        <td class="num">
          <button type="button" class="open" aria-expanded={isOpen} onClick={onOpen}>
            {clock(at)}
          </button>
        </td>
        <td>
          <span class={`mono inner-${Math.min(depth, MAX_DEPTH)}`}>{plain(nameOf(call), 120)}</span>
          {ran && (
            <span class="sub">
              {counted(ran.calls, 'call')}
              {ran.keptTokens > 0 && `, ${count(ran.keptTokens)} tokens kept out`}
            </span>
          )}
          {meta !== undefined && meta !== nameOf(call) && <span class="sub">{meta}</span>}
        </td>
        <td>
          {GOOD.has(outcome) ? outcome : <span class="bad">▲ {outcome.replaceAll('_', ' ')}</span>}
          {hits !== undefined && <span class="sub">{count(hits)} found</span>}
          {why !== undefined && <span class="why">{plain(why, 120)}</span>}
        </td>
        <td class="right">{duration(Math.max(0, totalMs - upstreamMs))}</td>
        <td class="right">{upstreamMs > 0 ? duration(upstreamMs) : '–'}</td>
        <td class="right">{tokens === undefined ? '–' : count(tokens)}</td>
        <td>
          {plain(client ?? caller ?? '–', 64)}
          {session !== undefined && <span class="sub mono">{session}</span>}
        </td>
      </tr>
      {isOpen && (
        <tr class="drawer">
          <td colSpan={7}>
            <Drawer call={call} />
          </td>
        </tr>
      )}
    </>
  )
}

/** The details of a call, with its arguments and result. */
function Drawer({ call }: { call: ConsoleCall }) {
  const { get } = useStore()
  const { seq, router, server, tool, why, method, at } = call
  const loaded = useLoaded(keyOf(call), () =>
    get<ConsolePayload>('call', { seq: `${seq}`, ...(router !== undefined && { router }) }),
  )
  return (
    <div class="inside">
      {why !== undefined && <p class="bad">{plain(why)}</p>}
      <p class="note">
        {new Date(at).toLocaleString('en-GB')} · {method} ·{' '}
        {server !== undefined && tool !== undefined ? (
          <ToolLink path={`${server}:${tool}`} />
        ) : (
          plain(nameOf(call))
        )}
        {router !== undefined && ` · through ${plain(router, 100)}`}
      </p>
      <Content of={loaded}>
        {({ arguments: args, result, withheld }) =>
          withheld !== undefined ? (
            <p class="note">{withheld}</p>
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard
            <pre tabIndex={0}>{plain(JSON.stringify({ arguments: args, result }, null, 2))}</pre>
          )
        }
      </Content>
    </div>
  )
}

function Filters({ calls }: { calls: readonly ConsoleCall[] }) {
  const valuesOf = (read: (call: ConsoleCall) => string | undefined) =>
    [...new Set(calls.flatMap(call => read(call) ?? []))].sort().slice(0, MAX_CHOICES)
  return (
    <>
      <Filter of="calls" placeholder="Tool or time" />
      <Choice label="Outcome" of="outcome" options={['errors', ...valuesOf(call => call.outcome)]} />
      <Choice label="Server" of="server" options={valuesOf(call => call.server)} />
      <Choice label="Client" of="client" options={valuesOf(call => call.client)} />
    </>
  )
}

function Export({ lines }: { lines: readonly LogLine[] }) {
  const text = lines.map(({ call }) => JSON.stringify(call)).join('\n')
  return <Copy text={text} label="Copy JSONL" />
}

function isWanted(call: ConsoleCall, chosen: Readonly<Record<string, string>>): boolean {
  const { outcome = '', server = '', client = '', filter = '' } = chosen
  const text = `${clock(call.at)} ${nameOf(call)} ${call.meta ?? ''}`.toLowerCase()
  return (
    (outcome === '' || call.outcome === outcome || (outcome === 'errors' && !GOOD.has(call.outcome))) &&
    (server === '' || call.server === server) &&
    (client === '' || call.client === client) &&
    text.includes(filter.toLowerCase())
  )
}

function nameOf({ server, tool, meta, method, hits, ran }: ConsoleCall): string {
  if (tool !== undefined) return `${server}:${tool}`
  if (ran) return 'script'
  return hits !== undefined ? (meta ?? 'search') : (meta ?? method)
}

function newerThan(live: readonly ConsoleCall[], paused: readonly ConsoleCall[]): number {
  const before = new Set(paused.map(keyOf))
  return live.filter(call => !before.has(keyOf(call))).length
}
