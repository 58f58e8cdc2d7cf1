/** The page about one tool: its arguments, what agents see of it, and its original definition. */
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { ConsoleToolDetail } from '../../core/console/shapes.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { count, plain } from '../format.ts'
import { listsVersion } from '../live.ts'
import { type Field, formOf, type Property } from '../schema-form.ts'
import { useStore } from '../store.ts'
import { Content, Copy, Empty, Link, useLoaded } from './parts.tsx'

/** The table leaves out properties that are nested more deeply. */
const MAX_DEPTH = 3

export function ToolDetail({ path }: { path: string }) {
  const { get, known } = useStore()
  const version = listsVersion(known.value.state)
  const loaded = useLoaded(path, () => get<ConsoleToolDetail>('tool', { path }), version)
  return (
    <>
      <p class="crumb">
        <Link page="tools">Tools</Link>
      </p>
      <h1 class="mono">{plain(path, 200)}</h1>
      <Content of={loaded}>{tool => <Detail tool={tool} />}</Content>
    </>
  )
}

function Detail({ tool }: { tool: ConsoleToolDetail }) {
  const { definition, title, notes, server, tokens, path, held } = tool
  const { inputSchema } = definition
  const form = useMemo(() => formOf(isObject(inputSchema) ? inputSchema : {}), [inputSchema])
  const description = typeof definition.description === 'string' ? definition.description : ''
  return (
    <>
      <p class="note">
        {title !== undefined && `${plain(title, 200)} · `}
        of{' '}
        <Link page="servers" item={server}>
          {plain(server)}
        </Link>
        {notes.length > 0 && ` · annotated as ${notes.join(', ')}`}
        {!held && ` · ${count(tokens)} tokens`}
      </p>
      {held && <p class="problem">It is held until its change is approved: agents do not find it.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard */}
      <p class="description" tabIndex={0}>
        {plain(description, 20_000) || 'It has no description, so searches find it only by its name.'}
      </p>
      <div class="actions">
        {!held && (
          <Link page="try" item={path} class="button primary">
            Try it
          </Link>
        )}
        <Link
          page="search"
          chosen={{ query: description.split(/[.\n]/)[0]?.slice(0, 120) || path, tool: path }}
          class="button"
        >
          How it is found
        </Link>
      </div>
      <section aria-labelledby="parameters">
        <h2 id="parameters">Arguments</h2>
        <Parameters form={form} />
      </section>
      <Seen tool={tool} />
    </>
  )
}

function Seen({ tool: { definition, tokens, seen, declaration, inScripts } }: { tool: ConsoleToolDetail }) {
  if (!seen) return <Json title="Definition" value={definition} />
  return (
    <section aria-labelledby="seen">
      <h2 id="seen">What agents see</h2>
      <p class="note">
        In the profile {declaration.profile} this tool costs {count(seen.tokens)} tokens, once, when a search
        finds it; its original definition would cost {count(tokens)} in every request. Parts that a budget
        cuts are marked as folded.
      </p>
      <div class="beside">
        <Json title={`Agents: ${count(seen.tokens)} tokens`} value={seen.definition} />
        <Json title={`Original: ${count(tokens)} tokens`} value={definition} />
      </div>
      {inScripts !== undefined && <Text title="In scripts" text={inScripts} />}
    </section>
  )
}

function Json({ title, value }: { title: string; value: JsonObject }) {
  return <Text title={title} text={JSON.stringify(value, null, 2)} />
}

function Text({ title, text }: { title: string; text: string }) {
  return (
    <figure>
      <figcaption>
        {title} <Copy text={text} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard */}
      <pre tabIndex={0}>{plain(text, 60_000)}</pre>
    </figure>
  )
}

function Parameters({ form }: { form: Field & { kind: 'object' } }) {
  if (form.properties.length === 0)
    return (
      <Empty>
        <p>Its schema names no arguments.</p>
      </Empty>
    )
  return (
    <div class="scroll">
      <table class="parameters">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Type</th>
            <th scope="col">Description</th>
          </tr>
        </thead>
        <tbody>{rowsOf(form.properties, '', 0)}</tbody>
      </table>
    </div>
  )
}

/** A row for each property, followed by the rows of the properties within it. `path`: what precedes their names. */
function rowsOf(properties: readonly Property[], path: string, depth: number): JSX.Element[] {
  if (depth > MAX_DEPTH) return []
  return properties.flatMap(({ name, isRequired, field }) => {
    const fullName = `${path}${name}`
    const item = field.kind === 'list' ? field.item : field
    const inner = item.kind === 'object' ? item.properties : []
    return [
      <tr key={fullName}>
        <td class="mono">
          {plain(fullName, 200)}
          {isRequired && <span class="note"> required</span>}
        </td>
        <td>{typeWord(field)}</td>
        <td>{plain(field.description, 1_000)}</td>
      </tr>,
      ...rowsOf(inner, `${fullName}${field.kind === 'list' ? '[]' : ''}.`, depth + 1),
    ]
  })
}

function typeWord(field: Field): string {
  switch (field.kind) {
    case 'text':
      return field.format ?? 'text'
    case 'number':
      return field.isWhole ? 'whole number' : 'number'
    case 'choice':
      return (
        plain(
          field.values
            .slice(0, 8)
            .map(value => JSON.stringify(value))
            .join(' | '),
          200,
        ) + (field.values.length > 8 ? ' | …' : '')
      )
    case 'list':
      return `list of ${typeWord(field.item)}`
    case 'object':
      return 'object'
    case 'json':
      return 'any JSON'
  }
}
