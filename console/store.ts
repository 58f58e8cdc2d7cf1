/** The data of the page and its route, as signals; passed to views by context. */
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { isObject } from '../core/json.ts'
import { type ClusterKnown, gatewayIn, NO_CLUSTER } from './cluster.ts'
import { type Known, NO_DATA } from './live.ts'
import type { Mcp } from './mcp.ts'
import { hashOf, type Page, type Route, readRoute } from './route.ts'
import { createStream } from './stream.ts'

export type Store = {
  route: ReadonlySignal<Route & { page: Page }>
  known: ReadonlySignal<Known>
  /** In a cluster: the operator's data about it. */
  cluster?: ReadonlySignal<ClusterKnown>
  /** In a cluster: `namespace/name` of the gateway that is shown; undefined: all. */
  gateway: string | undefined
  /** When the event stream was lost; undefined while it is open. */
  lostSince: ReadonlySignal<number | undefined>
  /** Why the gateway refuses this caller: status 401 or 403, in a cluster also 429. */
  refused: ReadonlySignal<string | undefined>
  /** The time, updated every second while the page is visible. */
  now: ReadonlySignal<number>
  theme: Signal<'system' | 'light' | 'dark'>
  /** Goes to another page. `chosen` replaces the present choices. */
  go(page: Page, item?: string, chosen?: Route['chosen']): void
  /** Changes choices of this page, without a new entry in the browser's history. */
  choose(chosen: Record<string, string>): void
  /** Uses a bearer token from now on. It is kept only in memory. */
  useToken(token: string): void
  /** Requests data from the console's API. Throws an Error with the message of the gateway. */
  get<T>(path: string, query?: Record<string, string>): Promise<T>
  post<T>(path: string, body: object): Promise<T>
  /** Options for requests to the gateway's MCP endpoint. */
  mcpOptions(): Pick<Mcp, 'base' | 'credentials'>
}

const THEME_KEY = 'portolan-theme'
/** Browsers send no header with other characters. */
const VISIBLE_ASCII = /^[\x21-\x7E]*$/

const Context = createContext<Store | undefined>(undefined)
export const StoreProvider = Context.Provider

export function useStore(): Store {
  const store = useContext(Context)
  if (!store) throw new Error('no store')
  return store
}

export function createStore(): Store {
  const known = signal<Known>(NO_DATA)
  const isCluster = document.documentElement.dataset.placement === 'cluster'
  const cluster = isCluster ? signal<ClusterKnown>(NO_CLUSTER) : undefined
  const gateway = isCluster ? gatewayIn(location.search) : undefined
  const base = gateway === undefined ? '' : `gateways/${gateway}/`
  const url = gateway === undefined ? 'console/events' : `console/events?gateway=${gateway}`
  const route = signal(readRoute(location.hash))
  const lostSince = signal<number | undefined>(undefined)
  const refused = signal<string | undefined>(undefined)
  const now = signal(Date.now())
  const theme = signal(readTheme())
  let token = ''
  const credentials = (): Record<string, string> => (token === '' ? {} : { authorization: `Bearer ${token}` })
  const stream = createStream({ url, known, cluster, lostSince, refused, credentials })
  addEventListener('hashchange', () => {
    route.value = readRoute(location.hash)
  })
  setInterval(() => {
    if (!document.hidden) now.value = Date.now()
  }, 1_000)
  theme.subscribe(applyTheme)
  stream.open()
  return {
    ...{ route, known: computed(() => known.value), lostSince, refused, now, theme, cluster, gateway },
    mcpOptions: () => ({ base, credentials: credentials() }),
    go: (page, item, chosen) => {
      location.hash = hashOf({ page, item, chosen })
    },
    choose(chosen) {
      const hash = hashOf({ ...route.value, chosen: { ...route.value.chosen, ...chosen } })
      route.value = readRoute(hash)
      // Browsers refuse this, or do not do it, if it is done too often.
      unlessBlocked(() => history.replaceState(null, '', hash))
    },
    useToken(given) {
      if (!VISIBLE_ASCII.test(given.trim())) {
        refused.value = 'a bearer token has only visible ASCII characters.'
        return
      }
      token = given.trim()
      refused.value = undefined
      stream.restart()
    },
    get: (path, query = {}) =>
      answer(fetch(`${base}console/${path}?${new URLSearchParams(query)}`, { headers: credentials() })),
    post: (path, body) =>
      answer(
        fetch(`${base}console/${path}`, {
          method: 'POST',
          headers: { ...credentials(), 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      ),
  }
}

/** The JSON of a response. Throws an Error with the gateway's message, or if there is no response. */
async function answer<T>(fetching: Promise<Response>): Promise<T> {
  const response = await fetching.catch(() => undefined)
  if (!response) throw new Error('The gateway does not answer: is it still running?')
  const body: unknown = await response.json().catch(() => undefined)
  if (response.ok && body !== undefined) return body as T
  const error = isObject(body) ? body.error : undefined
  if (typeof error === 'string') throw new Error(error)
  if (!response.ok) throw new Error(`The gateway answered with HTTP ${response.status}.`)
  throw new Error('The answer is not JSON: does something between this page and the gateway answer instead?')
}

function readTheme(): 'system' | 'light' | 'dark' {
  const kept = unlessBlocked(() => localStorage.getItem(THEME_KEY))
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

function applyTheme(theme: 'system' | 'light' | 'dark'): void {
  document.documentElement.dataset.theme = theme
  unlessBlocked(() =>
    theme === 'system' ? localStorage.removeItem(THEME_KEY) : localStorage.setItem(THEME_KEY, theme),
  )
}

/** Does what a browser may refuse, then undefined: to use a storage that is full or that its settings forbid (even its name throws), to change the URL too often. */
export function unlessBlocked<T>(use: () => T): T | undefined {
  try {
    return use()
  } catch {
    return undefined
  }
}
