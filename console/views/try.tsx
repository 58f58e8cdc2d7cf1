/** Calls a tool as an agent does: through the meta-tools, with the same checks, and with the questions of its server. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { ConsoleCall, ConsoleToolDetail } from '../../core/console/shapes.ts'
import { isObject, type JsonObject, tryParseJson } from '../../core/json.ts'
import { duration, plain } from '../format.ts'
import { listsVersion } from '../live.ts'
import { CLIENT_LABEL, callIn } from '../mcp.ts'
import { keyOf } from '../merge.ts'
import { shellCall } from '../result.ts'
import { draftOf, emptyDraft, formOf } from '../schema-form.ts'
import { type Store, useStore } from '../store.ts'
import { Answer } from './answer.tsx'
import { Arguments, argumentsIn } from './arguments.tsx'
import { type Stage, send } from './calling.ts'
import { Content, Copy, focused, Link, useLoaded } from './parts.tsx'
import { Questions } from './questions.tsx'
import { ToolPicker } from './tool-picker.tsx'

export function Try({ path }: { path?: string }) {
  const { get, known } = useStore()
  const version = listsVersion(known.value.state)
  const loaded = useLoaded(path, () => get<ConsoleToolDetail>('tool', { path: path ?? '' }), version)
  return (
    <>
      <h1>Try a tool</h1>
      <ToolPicker key={path} path={path} />
      {path !== undefined && (
        <Content of={loaded}>{tool => <Trial key={formKey(tool)} tool={tool} />}</Content>
      )}
    </>
  )
}

/** A form and its draft belong to one schema: if a tool has another one, it gets a new form. All other changes leave draft and result alone. */
function formKey({ path, definition }: ConsoleToolDetail): string {
  return `${path} ${JSON.stringify(definition.inputSchema)}`
}

/** The form for the arguments of a tool, and the result of its call. */
function Trial({ tool }: { tool: ConsoleToolDetail }) {
  const store = useStore()
  const { path, definition, notes } = tool
  const { inputSchema } = definition
  const field = useMemo(() => formOf(isObject(inputSchema) ? inputSchema : {}), [inputSchema])
  const [draft, setDraft] = useState(() => draftFromUrl(store, field))
  const [stage, setStage] = useState<Stage>({ at: 'ready' })
  const { args, problems } = argumentsIn(field, draft)
  useEffect(
    () => store.choose({ args: JSON.stringify(args) === '{}' ? '' : JSON.stringify(args) }),
    [JSON.stringify(args)],
  )
  const run = () => call(store, tool, args, setStage)
  const begin = () => (notes.includes('destructive') ? setStage({ at: 'confirm' }) : run())
  return (
    <div class="trial">
      <section aria-labelledby="arguments">
        <h2 id="arguments">Arguments</h2>
        <p class="note">
          {plain(tool.summary)}{' '}
          <Link page="tools" item={path}>
            Details
          </Link>
        </p>
        <form
          onSubmit={event => {
            event.preventDefault()
            begin()
          }}
        >
          <Arguments field={field} draft={draft} onDraft={setDraft} />
          <div class="actions">
            <button type="submit" class="primary" disabled={problems.length > 0 || stage.at === 'running'}>
              Call
            </button>
            {stage.at === 'running' && (
              <button type="button" onClick={() => stage.stop.abort()}>
                Stop
              </button>
            )}
            <Copy text={shellCall(path, args)} label="Copy as command" />
          </div>
        </form>
      </section>
      <Result tool={tool} stage={stage} onStage={setStage} run={run} />
    </div>
  )
}

type ResultProps = {
  tool: ConsoleToolDetail
  stage: Stage
  onStage(stage: Stage): void
  run(): void
}

function Result({ tool: { server, name, path }, stage, onStage, run }: ResultProps) {
  return (
    <section aria-labelledby="result" aria-live="polite">
      <h2 id="result">Result</h2>
      {stage.at === 'ready' && <p class="quiet">The tool has not been called yet.</p>}
      {stage.at === 'running' && <p class="quiet">The gateway calls {plain(server)}…</p>}
      {stage.at === 'failed' && <p class="problem">{plain(stage.message)}</p>}
      {stage.at === 'confirm' && (
        <div class="problem" role="alertdialog" aria-label="Destructive tool">
          <p>
            <b>{plain(server)}</b> says that <b>{plain(name)}</b> is destructive: its changes may be
            irreversible.
          </p>
          <div class="actions">
            <button type="button" ref={focused} onClick={run}>
              Call it
            </button>
            <button type="button" onClick={() => onStage({ at: 'ready' })}>
              Cancel
            </button>
          </div>
        </div>
      )}
      {stage.at === 'asking' && (
        <Questions server={server} questions={stage.questions} onAnswers={stage.answer} />
      )}
      {stage.at === 'done' && <Done result={stage.result} path={path} before={stage.before} />}
    </section>
  )
}

function Done(props: { result: JsonObject; path: string; before: ReadonlySet<string> }) {
  const { result, path, before } = props
  const { known } = useStore()
  const logged = known.value.calls.find(call => isOwnCall(call, path, before))
  return (
    <>
      <p class="note">
        {result.isError === true ? <span class="bad">▲ error</span> : 'ok'}
        {logged &&
          ` · router ${duration(logged.totalMs - logged.upstreamMs)} · server ${duration(logged.upstreamMs)}`}
        {logged?.tokens !== undefined && ` · about ${logged.tokens} tokens`}
      </p>
      <Answer result={result} />
    </>
  )
}

/** Whether a call in the log is the one that this page made: it was not in the log `before`. */
function isOwnCall(call: ConsoleCall, path: string, before: ReadonlySet<string>): boolean {
  const { server, tool, client } = call
  return client === CLIENT_LABEL && !before.has(keyOf(call)) && `${server}:${tool}` === path
}

/** Shown where the gateway serves only the profile `code`. */
const ONLY_SCRIPTS =
  'In the profile code agents call tools only by scripts. To try tools here, let the gateway serve another profile too.'

/** Calls the tool in the first served profile but `code`. */
function call(
  store: Store,
  tool: ConsoleToolDetail,
  args: JsonObject,
  setStage: (stage: Stage) => void,
): void {
  const profile = store.known.value.state?.served.find(name => name !== 'code') ?? 'code'
  const called = callIn(profile, tool.path, tool.declaration.listedName, args)
  if (called) void send(store, profile, called, setStage)
  else setStage({ at: 'failed', message: ONLY_SCRIPTS })
}

/** A draft of the arguments in the URL, which always has those of the form; an empty draft if it has none. */
function draftFromUrl({ route }: Store, field: ReturnType<typeof formOf>) {
  // Arguments that are not valid JSON, for example in a URL that was typed by hand, are ignored.
  const given = tryParseJson(route.value.chosen.args ?? '')
  return isObject(given) ? draftOf(field, given) : emptyDraft(field)
}
