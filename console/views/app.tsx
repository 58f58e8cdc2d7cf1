/** The frame of the page: navigation at the left, the gateway's name and state at the top, and the content. */
import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { addressOf } from '../cluster.ts'
import { clock, plain } from '../format.ts'
import { runsScripts } from '../live.ts'
import { hashOf, type Page } from '../route.ts'
import { createStore, type Store, StoreProvider, useStore } from '../store.ts'
import { Log } from './log.tsx'
import { Overview } from './overview.tsx'
import { Content, focused, useLoaded } from './parts.tsx'
import { Search } from './search.tsx'
import { ServerDetail } from './server-detail.tsx'
import { Servers } from './servers.tsx'
import { ToolDetail } from './tool-detail.tsx'
import { Tools } from './tools.tsx'
import { Try } from './try.tsx'

const GATEWAYS: readonly [Page, string] = ['gateways', 'Gateways']
const SCRIPT: readonly [Page, string] = ['script', 'Script']
const TITLES: readonly (readonly [Page, string])[] = [
  ['overview', 'Overview'],
  ['servers', 'Servers'],
  ['tools', 'Tools'],
  ['search', 'Search'],
  ['try', 'Try'],
  ['log', 'Log'],
  ['metrics', 'Metrics'],
  ['resources', 'Resources'],
]
/** On a Mac, Ctrl+K deletes to the end of the line. */
const IS_MAC = navigator.platform.startsWith('Mac')
/** The key that opens the search is named where the search is. */
const SEARCH_KEYS = IS_MAC
  ? { 'aria-keyshortcuts': 'Meta+K', title: '⌘K' }
  : { 'aria-keyshortcuts': 'Control+K', title: 'Ctrl+K' }

function isSearchKey(event: KeyboardEvent): boolean {
  const { ctrlKey, metaKey, altKey, shiftKey } = event
  const isModified = (IS_MAC ? metaKey && !ctrlKey : ctrlKey && !metaKey) && !altKey && !shiftKey
  // Browsers that fill in a form send events without a key.
  return isModified && event.key?.toLowerCase() === 'k'
}

export function App() {
  const [store] = useState(createStore)
  return (
    <StoreProvider value={store}>
      <Frame />
    </StoreProvider>
  )
}

function Frame() {
  const { route, lostSince, go, known, cluster, gateway } = useStore()
  const { page: asked, item } = route.value
  // In a cluster, without a chosen gateway, there is only the page about all gateways. On a laptop there is no such page.
  const page =
    cluster && gateway === undefined ? 'gateways' : !cluster && asked === 'gateways' ? 'overview' : asked
  const ofGateway = runsScripts(known.value.state) ? [...TITLES, SCRIPT] : TITLES
  const titles = cluster ? [GATEWAYS, ...(gateway === undefined ? [] : ofGateway)] : ofGateway
  const content = useRef<HTMLElement>(null)
  const where = `${page} ${item ?? ''}`
  useEffect(() => {
    document.title = `${titles.find(([key]) => key === page)?.[1] ?? 'Portolan'}${item === undefined ? '' : ` · ${plain(item, 80)}`} · Portolan`
    window.scrollTo(0, 0)
  }, [where])
  const hasSearch = titles.some(([key]) => key === 'search')
  useEffect(() => {
    const search = (event: KeyboardEvent) => {
      if (!hasSearch || !isSearchKey(event)) return
      event.preventDefault()
      // On the page of the search, what was searched stays.
      if (page === 'search') document.querySelector<HTMLElement>('input.query')?.focus()
      else go('search')
    }
    addEventListener('keydown', search)
    return () => removeEventListener('keydown', search)
  }, [go, page, hasSearch])
  return (
    <>
      <button type="button" class="skip" onClick={() => content.current?.focus()}>
        Skip to the content
      </button>
      <Top />
      <nav aria-label="Pages">
        <ul>
          {titles.map(([key, title]) => (
            <li key={key}>
              <a
                href={hashOf({ page: key })}
                aria-current={key === page ? 'page' : undefined}
                {...(key === 'search' && SEARCH_KEYS)}
              >
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main id="content" ref={content} tabIndex={-1} class={lostSince.value === undefined ? '' : 'stale'}>
        <PageContent page={page} />
      </main>
    </>
  )
}

/** The content of a page, or why it cannot be shown. */
function PageContent({ page }: { page: Page }) {
  const { refused, known, cluster, gateway = '' } = useStore()
  const { cluster: data, unreachable } = cluster?.value ?? {}
  if (page === 'gateways') return data ? <Lazy key="gateways" load={loadGateways} /> : null
  if (refused.value !== undefined) return <Login why={refused.value} />
  if (known.value.state)
    return (
      <>
        {unreachable !== undefined && (
          <p class="problem" role="alert">
            {plain(unreachable, 500)} What follows may be old.
          </p>
        )}
        <Pages page={page} />
      </>
    )
  if (unreachable === undefined) return null
  return (
    <>
      <h1>{plain(gateway)}</h1>
      <p class="problem" role="alert">
        {plain(unreachable, 500)} <a href={addressOf(undefined)}>All gateways</a>
      </p>
    </>
  )
}

function Pages({ page }: { page: Page }) {
  const { item } = useStore().route.value
  switch (page) {
    case 'servers':
      return item === undefined ? <Servers /> : <ServerDetail name={item} />
    case 'tools':
      return item === undefined ? <Tools /> : <ToolDetail path={item} />
    case 'search':
      return <Search />
    case 'try':
      return <Try path={item} />
    case 'log':
      return <Log />
    case 'metrics':
      return <Lazy key="metrics" load={loadMetrics} />
    case 'script':
      return <Lazy key="script" load={loadScript} />
    case 'resources':
      return <Lazy key="resources" load={loadResources} />
    default:
      return <Overview />
  }
}

const loadMetrics = () => import('./metrics.tsx').then(({ Metrics }) => Metrics)
const loadResources = () => import('./resources.tsx').then(({ Resources }) => Resources)
/** Only clusters need it. */
const loadGateways = () => import('./gateways.tsx').then(({ Gateways }) => Gateways)
/** Only gateways with code mode need it. */
const loadScript = () => import('./script.tsx').then(({ Script }) => Script)

/** A page whose code is loaded when it is opened. */
function Lazy({ load }: { load: () => Promise<ComponentType> }) {
  const loaded = useLoaded('page', load)
  return <Content of={loaded}>{View => <View />}</Content>
}

function Top() {
  const store = useStore()
  const { known, lostSince, theme, cluster } = store
  const { state } = known.value
  const next = { system: 'light', light: 'dark', dark: 'system' } as const
  return (
    <header class="top">
      <a class="brand" href="#/overview">
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <circle cx="8" cy="8" r="6.75" />
          <path d="M8 2.5 9.7 8 8 13.5 6.3 8z" />
        </svg>
        Portolan
      </a>
      {cluster && <GatewayChoice />}
      {state && (
        <span class="gateway">
          {!cluster && plain(state.gateway.name)} <span class="note">{state.profile}</span>
        </span>
      )}
      <span class={lostSince.value === undefined ? 'word' : 'word bad'} role="status">
        {lostSince.value === undefined
          ? stateWord(store)
          : `Disconnected since ${clock(lostSince.value)}, reconnecting`}
      </span>
      <button
        type="button"
        class="small theme"
        aria-label={`Theme: ${theme.value}. Change it`}
        onClick={() => {
          theme.value = next[theme.value]
        }}
      >
        {theme.value === 'system' ? '◐' : theme.value === 'light' ? '○' : '●'}
      </button>
    </header>
  )
}

function stateWord({ known, cluster, gateway, refused }: Store): string {
  const { state } = known.value
  if (cluster?.value.unreachable !== undefined) return 'unreachable'
  if (refused.value !== undefined) return 'not logged in'
  if (cluster && gateway === undefined) return cluster.value.cluster ? 'ready' : 'connecting'
  return !state ? 'connecting' : state.ready ? 'ready' : 'starting'
}

/** Chooses a gateway by loading another URL, so that nothing of the previous one stays in memory, least of all a token. */
function GatewayChoice() {
  const { cluster, gateway = '' } = useStore()
  const [chosen, setChosen] = useState(gateway)
  const all = cluster?.value.cluster?.gateways.map(({ namespace, name }) => `${namespace}/${name}`) ?? []
  const known = gateway === '' || all.includes(gateway) ? all : [gateway, ...all]
  return (
    <form
      class="gateways"
      onSubmit={event => {
        event.preventDefault()
        location.assign(addressOf(chosen === '' ? undefined : chosen))
      }}
    >
      <select
        class="choice"
        aria-label="Gateway"
        value={chosen}
        onChange={({ currentTarget: { value } }) => setChosen(value)}
      >
        <option value="">All gateways</option>
        {known.map(one => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
      <button type="submit">Open</button>
    </form>
  )
}

function Login({ why }: { why: string }) {
  const { useToken } = useStore()
  const [token, setToken] = useState('')
  return (
    <form
      class="login"
      onSubmit={event => {
        event.preventDefault()
        useToken(token)
      }}
    >
      <h1>Log in</h1>
      <p role="alert">This gateway requires a credential: {plain(why, 300)}</p>
      <label for="token">Bearer token</label>
      <input
        id="token"
        ref={focused}
        type="password"
        autocomplete="off"
        value={token}
        onInput={event => setToken(event.currentTarget.value)}
      />
      <button type="submit" class="primary">
        Continue
      </button>
      <p class="note">
        The token is kept only in the memory of this page, until you reload it. The page shows what its caller
        may use.
      </p>
    </form>
  )
}
