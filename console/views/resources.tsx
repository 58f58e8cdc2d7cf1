/** The resources and templates of all servers, and their content. */
import { useEffect, useState } from 'preact/hooks'
import type { ConsoleResource } from '../../core/console/shapes.ts'
import type { JsonObject } from '../../core/json.ts'
import { bytes, clock, count, plain } from '../format.ts'
import { listsVersion } from '../live.ts'
import { listen, request } from '../mcp.ts'
import { useStore } from '../store.ts'
import { templateOf } from '../template.ts'
import { Answer } from './answer.tsx'
import { Content, Copy, Empty, Link, useLoaded } from './parts.tsx'
import { Filter, shownOf } from './tables.tsx'

const MAX_ROWS = 300

export function Resources() {
  const { get, known, route } = useStore()
  const uri = route.value.item
  const version = listsVersion(known.value.state)
  const loaded = useLoaded('resources', () => get<ConsoleResource[]>('resources'), version)
  return (
    <>
      <h1>Resources</h1>
      <Content of={loaded}>
        {resources => {
          const chosen = resources.find(one => one.uri === uri)
          return resources.length === 0 ? (
            <Empty>
              <p>No server has resources, or their lists have not been read yet.</p>
            </Empty>
          ) : (
            <div class="beside">
              <List resources={resources} uri={uri} />
              {chosen ? (
                <Preview key={chosen.uri} resource={chosen} />
              ) : (
                <p class="quiet">
                  {uri === undefined ? 'Choose one to see its content.' : 'There is no such resource here.'}
                </p>
              )}
            </div>
          )
        }}
      </Content>
    </>
  )
}

function List({ resources, uri }: { resources: readonly ConsoleResource[]; uri?: string }) {
  const { route } = useStore()
  const { filter = '' } = route.value.chosen
  const wanted = resources.filter(({ uri, name }) =>
    `${uri} ${name}`.toLowerCase().includes(filter.toLowerCase()),
  )
  return (
    <div>
      <div class="title">
        <Filter of="resources" />
        <span class="note" role="status">
          {shownOf(wanted.length, resources.length)}
        </span>
      </div>
      <ul class="resources">
        {wanted.slice(0, MAX_ROWS).map(one => (
          <li key={one.uri} class={one.uri === uri ? 'chosen' : ''}>
            <Link page="resources" item={one.uri} chosen={{ filter }}>
              {plain(one.name, 120)}
            </Link>
            {one.isTemplate && <span class="note"> template</span>}
            <span class="sub mono">{plain(one.uri, 200)}</span>
          </li>
        ))}
      </ul>
      {wanted.length > MAX_ROWS && (
        <p class="note">and {count(wanted.length - MAX_ROWS)} more: filter them</p>
      )}
    </div>
  )
}

function Preview({ resource }: { resource: ConsoleResource }) {
  const { name, description, mimeType, size, listedUri, own, isTemplate, watchable } = resource
  const template = isTemplate ? templateOf(listedUri) : undefined
  const [values, setValues] = useState<Record<string, string>>({})
  const [typed, setTyped] = useState(listedUri)
  const [asked, setAsked] = useState(isTemplate ? undefined : listedUri)
  const target = template ? template.fill(values) : typed
  return (
    <section class="preview" aria-label="Resource">
      <h2>{plain(name, 200)}</h2>
      <p class="note">
        {[mimeType, size === undefined ? undefined : bytes(size)]
          .filter(Boolean)
          .map(text => plain(text, 100))
          .join(' · ')}{' '}
        <Copy text={own} label="Copy URI" />
      </p>
      {description !== undefined && <p>{plain(description)}</p>}
      {isTemplate && (
        <form
          class="fields"
          onSubmit={event => {
            event.preventDefault()
            setAsked(target)
          }}
        >
          {template ? (
            template.variables.map(variable => (
              <label key={variable} class="field">
                <span class="mono">{plain(variable, 100)}</span>
                <input
                  type="text"
                  value={values[variable] ?? ''}
                  onInput={event => setValues({ ...values, [variable]: event.currentTarget.value })}
                />
              </label>
            ))
          ) : (
            <label class="field">
              URI
              <input type="text" value={typed} onInput={event => setTyped(event.currentTarget.value)} />
            </label>
          )}
          <div class="actions">
            <button type="submit" class="primary">
              Read
            </button>
          </div>
        </form>
      )}
      {asked !== undefined && <ResourceContent key={asked} uri={asked} watchable={watchable} />}
    </section>
  )
}

/** The content of a resource, read in the same way as by an agent. If it is watched, it is read again whenever its server reports a change. */
function ResourceContent({ uri, watchable }: { uri: string; watchable: boolean }) {
  const { mcpOptions } = useStore()
  const [isWatched, setWatched] = useState(false)
  const [changes, setChanges] = useState<{ number: number; lastAt?: number }>({ number: 0 })
  const [problem, setProblem] = useState<string>()
  const loaded = useLoaded<JsonObject>(
    uri,
    () => request('resources/read', { uri }, mcpOptions()),
    `${changes.number}`,
  )
  useEffect(() => {
    if (!isWatched) return
    const stop = new AbortController()
    setProblem(undefined)
    const changed = () => setChanges(({ number }) => ({ number: number + 1, lastAt: Date.now() }))
    listen(uri, changed, { ...mcpOptions(), signal: stop.signal }).catch((error: Error) => {
      if (!stop.signal.aborted) setProblem(error.message)
      setWatched(false)
    })
    return () => stop.abort()
  }, [isWatched, uri])
  return (
    <>
      <div class="actions">
        <button type="button" onClick={loaded.reload}>
          Read again
        </button>
        {watchable && (
          <button type="button" aria-pressed={isWatched} onClick={() => setWatched(!isWatched)}>
            {isWatched ? 'Watched' : 'Watch'}
          </button>
        )}
        {changes.lastAt !== undefined && <span class="note">changed at {clock(changes.lastAt)}</span>}
        {problem !== undefined && <span class="bad">{plain(problem, 200)}</span>}
      </div>
      <Content of={loaded}>{result => <Answer result={result} />}</Content>
    </>
  )
}
