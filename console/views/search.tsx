/** Shows what an agent gets for a query, exactly as it gets it, and why each hit has its rank. */
import { useEffect, useState } from 'preact/hooks'
import { isObject, tryParseJson } from '../../core/json.ts'
import { count, duration, plain } from '../format.ts'
import { listsVersion } from '../live.ts'
import { request, searchIn } from '../mcp.ts'
import { partsOf } from '../result.ts'
import type { Explained } from '../search-why.ts'
import { type Store, useStore } from '../store.ts'
import { Content, focused, useLoaded } from './parts.tsx'
import { Why } from './why.tsx'

/** How many hits are explained: more than an answer has, to show which others were close. */
const EXPLAINED = 60
const LIMITS = [3, 5, 10, 20, 50]
const TYPING_MS = 300
const EXAMPLES = ['read text file', 'which day is it today', 'add two numbers']

export function Search() {
  const { route, choose, known } = useStore()
  const { query = '', other, limit = '10', profile: asked } = route.value.chosen
  const { state } = known.value
  const searching = (state?.served ?? []).filter(name => name !== 'direct')
  const profile = searching.find(name => name === asked) ?? searching[0] ?? ''
  const common = { limit: Number(limit), profile, isWide: other === undefined }
  return (
    <>
      <div class="title">
        <h1>Search</h1>
        {searching.length > 1 && (
          <select
            aria-label="Profile"
            value={profile}
            onChange={event => choose({ profile: event.currentTarget.value })}
          >
            {searching.map(name => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
        <select
          aria-label="Limit"
          value={limit}
          onChange={event => choose({ limit: event.currentTarget.value })}
        >
          {LIMITS.map(number => (
            <option key={number} value={`${number}`}>
              {number} hits
            </option>
          ))}
        </select>
        <button
          type="button"
          aria-pressed={other !== undefined}
          onClick={() => choose({ other: other === undefined ? ' ' : '' })}
        >
          Compare two
        </button>
        <span class="note">{searchMode(state?.search)}</span>
      </div>
      <div class={other === undefined ? '' : 'beside'}>
        <SearchColumn name="query" query={query} {...common} />
        {other !== undefined && <SearchColumn name="other" query={other.trim()} {...common} />}
      </div>
    </>
  )
}

function searchMode(search: { semantic: string; reason?: string; pending: number } | undefined): string {
  if (!search || search.semantic === 'off')
    return `By words alone${search?.reason ? `: ${search.reason}` : ''}`
  return search.pending > 0
    ? `By words and meaning; ${count(search.pending)} tools have no vector yet`
    : 'By words and meaning'
}

/** `isWide`: there is only one column, which has room for the answer and the explanation side by side. */
type SearchColumnProps = {
  name: 'query' | 'other'
  query: string
  limit: number
  profile: string
  isWide: boolean
}

/** One query with its answer and its explanation. An empty second query is the choice ' ', since empty choices are left out of the URL. */
function SearchColumn({ name, query, limit, profile, isWide }: SearchColumnProps) {
  const { choose, get, known } = useStore()
  const [text, setText] = useState(query)
  // The query is the typed text without spaces at its ends: these stay, since the next word may be about to follow.
  useEffect(() => setText(typed => (typed.trim() === query ? typed : query)), [query])
  useEffect(() => {
    if (text.trim() === query) return
    const timer = setTimeout(
      () => choose({ [name]: text.trim() || (name === 'other' ? ' ' : '') }),
      TYPING_MS,
    )
    return () => clearTimeout(timer)
  }, [text])
  const { state } = known.value
  const explained = useLoaded(
    query === '' ? undefined : query,
    () => get<Explained>('search', { query, limit: `${EXPLAINED}` }),
    `${listsVersion(state)} ${state?.search.pending}`,
  )
  return (
    <div class="one">
      <input
        type="search"
        class="query"
        aria-label={name === 'query' ? 'Query' : 'Other query'}
        placeholder="What an agent would ask for: product, verb, object"
        value={text}
        ref={name === 'query' ? focused : undefined}
        onInput={event => setText(event.currentTarget.value)}
      />
      {query === '' ? (
        <p class="quiet">
          For example:{' '}
          {EXAMPLES.map(example => (
            <button type="button" class="small" key={example} onClick={() => choose({ [name]: example })}>
              {example}
            </button>
          ))}
        </p>
      ) : (
        <div class={isWide ? 'beside' : ''}>
          <Reply query={query} limit={limit} profile={profile} />
          <section aria-label={`Why: ${query}`} class="why">
            <h2>Why</h2>
            <Content of={explained}>{found => <Why explained={found} limit={limit} />}</Content>
          </section>
        </div>
      )}
    </div>
  )
}

type Replied = { text: string; tokens: number; ms: number }

/** The answer exactly as an agent gets it. */
function Reply({ query, limit, profile }: { query: string; limit: number; profile: string }) {
  const store = useStore()
  const version = listsVersion(store.known.value.state)
  const loaded = useLoaded(
    `${query} ${limit} ${profile}`,
    () => searched(store, profile, query, limit),
    version,
  )
  return (
    <section aria-label={`Answer: ${query}`} class="reply">
      <h2>What the agent gets</h2>
      <Content of={loaded}>
        {({ text, tokens, ms }) => (
          <>
            <p class="note">
              about {count(tokens)} tokens · {duration(ms)}
            </p>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard */}
            <pre tabIndex={0}>{plain(pretty(text), 60_000)}</pre>
          </>
        )}
      </Content>
    </section>
  )
}

async function searched(store: Store, profile: string, query: string, limit: number): Promise<Replied> {
  const params = searchIn(profile, query, limit)
  if (!params) throw new Error('In this profile agents list all tools instead of searching.')
  const begun = performance.now()
  const result = await request('tools/call', params, { profile, ...store.mcpOptions() })
  const ms = performance.now() - begun
  const text = partsOf(result.content)
    .flatMap(part => (part.kind === 'text' ? [part.text] : []))
    .join('\n')
  const { tokens } = await store.post<{ tokens: number }>('tokens', { text })
  return { text, tokens, ms }
}

/** Indents JSON for people. Tokens are counted in the original text. */
function pretty(text: string): string {
  const value = tryParseJson(text)
  return isObject(value) ? JSON.stringify(value, null, 2) : text
}
