/** Small components that several pages use. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ConsoleServer } from '../../core/console/shapes.ts'
import { plain } from '../format.ts'
import { hashOf, type Page } from '../route.ts'

/** A state is shown with a shape and a word, so that it can be recognised without colours. */
const SHAPES: Readonly<Record<ConsoleServer['state'], string>> = {
  ready: '●',
  asleep: '○',
  starting: '◐',
  failed: '▲',
  authRequired: '▲',
  suspended: '–',
  notAccepted: '▲',
}
const WORDS: Partial<Record<ConsoleServer['state'], string>> = {
  authRequired: 'needs login',
  notAccepted: 'not accepted',
}

export function State({ of }: { of: ConsoleServer['state'] }) {
  return (
    <span class={`state ${of}`}>
      <span class="shape" aria-hidden="true">
        {SHAPES[of]}
      </span>
      {WORDS[of] ?? of}
    </span>
  )
}

export function Link(props: {
  page: Page
  item?: string
  chosen?: Record<string, string>
  class?: string
  children: ComponentChildren
}) {
  const { page, item, chosen, children } = props
  return (
    <a href={hashOf({ page, item, chosen })} class={props.class}>
      {children}
    </a>
  )
}

/** The path of a tool as a link to its page. */
export function ToolLink({ path }: { path: string }) {
  return (
    <Link page="tools" item={path} class="mono">
      {plain(path, 200)}
    </Link>
  )
}

/** A bar that shows a value as a share of the largest one. */
export function Bar({ value, most, quiet }: { value: number; most: number; quiet?: boolean }) {
  const share = most <= 0 ? 0 : Math.min(1, Math.max(0, value / most))
  return (
    <svg
      class={quiet ? 'bar quiet' : 'bar'}
      viewBox="0 0 100 4"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <rect class="track" width="100" height="4" />
      <rect class="fill" width={value > 0 ? Math.max(0.6, share * 100) : 0} height="4" />
    </svg>
  )
}

export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [outcome, setOutcome] = useState<string>()
  useEffect(() => {
    if (outcome === undefined) return
    const timer = setTimeout(() => setOutcome(undefined), 1_500)
    return () => clearTimeout(timer)
  }, [outcome])
  const copy = async () => {
    try {
      // Browsers have no clipboard for pages without TLS from other machines.
      await navigator.clipboard.writeText(text)
      setOutcome('Copied')
    } catch {
      setOutcome('The browser does not allow it')
    }
  }
  return (
    <button type="button" class="small" onClick={copy}>
      {outcome ?? label}
    </button>
  )
}

/** A command line with a button that copies it. */
export function Command({ text }: { text: string }) {
  return (
    <div class="command">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line is scrolled by keyboard */}
      <code tabIndex={0}>{text}</code>
      <Copy text={text} />
    </div>
  )
}

/** Pass as `ref` of a page's main field to focus it. The attribute `autofocus` works only when the document loads. */
export function focused(element: HTMLElement | null): void {
  element?.focus()
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>
}

export type Loaded<T> = { value?: T; error?: string; isLoading: boolean; reload(): void }

/**
 * Loads when `key` or `version` changes, and on `reload`. While the same thing is loaded again, for another version or on `reload`, and if that
 * fails, the last value stays, so that what people do with it goes on. Without a key, nothing is loaded.
 */
export function useLoaded<T>(key: string | undefined, load: () => Promise<T>, version = ''): Loaded<T> {
  const [round, setRound] = useState(0)
  const [found, setFound] = useState<{ key?: string; value?: T; error?: string }>({})
  const wanted = useRef('')
  useEffect(() => {
    if (key === undefined) return
    const current = `${key} ${version} ${round}`
    wanted.current = current
    load().then(
      value => wanted.current === current && setFound({ key, value }),
      ({ message: error }: Error) =>
        wanted.current === current && setFound(was => (was.key === key ? { ...was, error } : { key, error })),
    )
  }, [key, version, round])
  const { value, error } = found.key === key ? found : {}
  const isLoading = key !== undefined && value === undefined && error === undefined
  return { value, error, isLoading, reload: () => setRound(round + 1) }
}

/** The loaded content, an error with a button to retry, or a placeholder, which the style sheet hides for the first 0.2 s. */
export function Content<T>({ of, children }: { of: Loaded<T>; children: (value: T) => ComponentChildren }) {
  if (of.value === undefined && of.error === undefined)
    return (
      <div class="loading" aria-busy="true">
        <span />
        <span />
        <span />
      </div>
    )
  return (
    <>
      {of.error !== undefined && (
        <div class="problem" role="alert">
          <p>{plain(of.error)}</p>
          <button type="button" onClick={of.reload}>
            Retry
          </button>
        </div>
      )}
      {of.value !== undefined && children(of.value)}
    </>
  )
}

export function Tabs(props: {
  tabs: readonly (readonly [string, string])[]
  current: string
  onTab(tab: string): void
}) {
  const { tabs, current, onTab } = props
  const move = (event: KeyboardEvent, at: number) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    const next = tabs[(at + step + tabs.length) % tabs.length]
    if (step === 0 || !next) return
    onTab(next[0])
    document.getElementById(`tab-${next[0]}`)?.focus()
  }
  return (
    <div class="tabs" role="tablist">
      {tabs.map(([key, title], at) => (
        <button
          key={key}
          id={`tab-${key}`}
          type="button"
          role="tab"
          aria-selected={key === current}
          tabIndex={key === current ? 0 : -1}
          onClick={() => onTab(key)}
          onKeyDown={event => move(event, at)}
        >
          {title}
        </button>
      ))}
    </div>
  )
}
