/** Runs a script as an agent does in code mode, and shows its result, its log, and a timeline of its calls. */
import { useEffect, useState } from 'preact/hooks'
import { exactJson } from '../../core/exact-json.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { count, counted, duration, plain } from '../format.ts'
import { runsScripts } from '../live.ts'
import { scriptToolIn } from '../mcp.ts'
import { reportOf, type ScriptReport, type TimelineCall, timelineOf } from '../script.ts'
import { unlessBlocked, useStore } from '../store.ts'
import { type Stage, send } from './calling.ts'
import { Empty, ToolLink } from './parts.tsx'
import { Questions } from './questions.tsx'

const STORAGE_KEY = 'portolan-script'
const MIN_LINES = 12
const MAX_CHARACTERS = 100_000
const EXAMPLE = [
  '// The body of an async function.',
  '// Tools are tools.<server>.<tool>(arguments).',
  "const found = await discover('current time', { limit: 3 })",
  'return found.map(tool => tool.path)',
  '',
].join('\n')

export function Script() {
  const store = useStore()
  const { state } = store.known.value
  const [code, setCode] = useState(() => unlessBlocked(() => sessionStorage.getItem(STORAGE_KEY)) ?? EXAMPLE)
  const [input, setInput] = useState('')
  const [stage, setStage] = useState<Stage>({ at: 'ready' })
  useEffect(() => unlessBlocked(() => sessionStorage.setItem(STORAGE_KEY, code)), [code])
  const given = inputOf(input)
  const profile = state?.profile ?? 'hierarchical'
  const isReady = given.problem === undefined && code.trim() !== '' && stage.at !== 'running'
  const run = () => {
    if (!isReady) return
    const args: JsonObject = { code, ...(given.value !== undefined && { input: given.value }) }
    void send(store, profile, { name: scriptToolIn(profile), arguments: args }, setStage)
  }
  const report = stage.at === 'done' ? reportOf(stage.result) : undefined
  if (!runsScripts(state)) return <NoScripts />
  return (
    <>
      <h1>Script</h1>
      <p class="note">
        The script runs in the sandbox of the gateway with your rights, like the script of any agent. You are
        asked before calls of destructive tools.
      </p>
      <div class="trial">
        <form
          class="script"
          onSubmit={event => {
            event.preventDefault()
            run()
          }}
        >
          <Editor code={code} onCode={setCode} onRun={run} wrong={report?.line} />
          <Input text={input} onText={setInput} problem={given.problem} />
          <Actions stage={stage} isReady={isReady} />
        </form>
        <Result stage={stage} report={report} />
      </div>
    </>
  )
}

function Input({ text, onText, problem }: { text: string; onText(text: string): void; problem?: string }) {
  return (
    <>
      <label class="field">
        <span>
          <span class="mono">input</span> <span class="note">JSON, or empty</span>
        </span>
        <textarea rows={2} value={text} onInput={event => onText(event.currentTarget.value)} />
      </label>
      {problem !== undefined && <p class="bad">{plain(problem, 200)}</p>}
    </>
  )
}

function Actions({ stage, isReady }: { stage: Stage; isReady: boolean }) {
  return (
    <div class="actions">
      <button type="submit" class="primary" disabled={!isReady}>
        Run
      </button>
      {stage.at === 'running' && (
        <button type="button" onClick={() => stage.stop.abort()}>
          Stop
        </button>
      )}
      <span class="note">or Ctrl+Enter</span>
    </div>
  )
}

function Result({ stage, report }: { stage: Stage; report?: ScriptReport }) {
  return (
    <section aria-labelledby="result" aria-live="polite">
      <h2 id="result">Result</h2>
      {stage.at === 'ready' && <p class="quiet">No script has run yet.</p>}
      {stage.at === 'running' && <p class="quiet">The script runs…</p>}
      {stage.at === 'failed' && <p class="problem">{plain(stage.message)}</p>}
      {stage.at === 'asking' && (
        <Questions server="The script" questions={stage.questions} onAnswers={stage.answer} />
      )}
      {report && <Report report={report} />}
    </section>
  )
}

function NoScripts() {
  return (
    <>
      <h1>Script</h1>
      <Empty>
        <p>
          This gateway does not run scripts. <code>spec.code.enabled</code> of its McpGateway allows them.
        </p>
      </Empty>
    </>
  )
}

/** A text area with line numbers, as high as its text. */
function Editor(props: { code: string; wrong?: number; onCode(code: string): void; onRun(): void }) {
  const { code, wrong, onCode, onRun } = props
  const lines = Math.max(MIN_LINES, code.split('\n').length)
  return (
    <div class="editor">
      <ol aria-hidden="true">
        {Array.from({ length: lines }, (_none, at) => (
          <li key={`${at}`} class={at + 1 === wrong ? 'wrong' : ''}>
            {at + 1}
          </li>
        ))}
      </ol>
      <textarea
        aria-label={wrong === undefined ? 'Code' : `Code; line ${wrong} failed`}
        aria-invalid={wrong !== undefined}
        rows={lines}
        wrap="off"
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        value={code}
        onInput={event => onCode(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          onRun()
        }}
      />
    </div>
  )
}

function Report({ report }: { report: ScriptReport }) {
  const { texts, failed, calls, sandboxMs, keptTokens } = report
  const { known } = useStore()
  const [first = '', ...more] = texts
  return (
    <>
      <p class="note">
        {failed ? <span class="bad">▲ error</span> : 'ok'} · {counted(calls.length, 'call')}
        {sandboxMs !== undefined && ` · ${duration(sandboxMs)} in the sandbox`}
        {keptTokens !== undefined &&
          keptTokens > 0 &&
          ` · about ${count(keptTokens)} tokens of results that the agent does not get`}
      </p>
      <div class="answer">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard */}
        <pre tabIndex={0} class={failed ? 'bad' : ''}>
          {plain(first, MAX_CHARACTERS)}
        </pre>
        {more.map(text => (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard
          <pre key={text} tabIndex={0} class="quiet">
            {plain(text, MAX_CHARACTERS)}
          </pre>
        ))}
      </div>
      {calls.length > 0 && <Waterfall calls={timelineOf(report, known.value.calls)} />}
    </>
  )
}

/** Each call as a bar, and the calls of a reviewed script below it. */
function Waterfall({ calls }: { calls: readonly TimelineCall[] }) {
  const all = Math.max(1, ...calls.map(({ atMs, ms }) => atMs + ms))
  return (
    <table class="waterfall">
      <caption>Timeline of the calls: {duration(all)}</caption>
      <thead>
        <tr>
          <th scope="col">Tool</th>
          <th scope="col">Outcome</th>
          <th scope="col" class="right">
            After
          </th>
          <th scope="col" class="right">
            Took
          </th>
          <th scope="col" class="share">
            When
          </th>
        </tr>
      </thead>
      <tbody>
        {calls.map(({ tool, outcome, atMs, ms, depth }, at) => (
          <tr key={`${at}`} class={outcome === 'ok' ? '' : 'down'}>
            <td class={depth > 0 ? 'inner' : ''}>
              {tool.includes(':') ? <ToolLink path={tool} /> : plain(tool, 200)}
            </td>
            <td>
              {outcome === 'ok' ? 'ok' : <span class="bad">▲ {plain(outcome.replaceAll('_', ' '), 40)}</span>}
            </td>
            <td class="right">{duration(atMs)}</td>
            <td class="right">{duration(ms)}</td>
            <td class="share">
              <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                <rect class="track" width="100" height="4" />
                <rect
                  class="fill"
                  x={(atMs / all) * 100}
                  width={Math.max(0.6, (ms / all) * 100)}
                  height="4"
                />
              </svg>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function inputOf(text: string): { value?: JsonValue; problem?: string } {
  if (text.trim() === '') return {}
  try {
    return { value: exactJson(text) }
  } catch (error) {
    if (error instanceof RangeError)
      return { problem: 'The input has a number that would be rounded: write it as a text.' }
    return { problem: `The input is not JSON: ${(error as Error).message}` }
  }
}
