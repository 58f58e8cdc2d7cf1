/** All tools, filtered and sorted. Only the visible rows are drawn, since there may be thousands. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ConsoleTool } from '../../core/console/shapes.ts'
import { count, plain } from '../format.ts'
import { listsVersion } from '../live.ts'
import { useStore } from '../store.ts'
import { windowOf } from '../window.ts'
import { Content, Empty, Link, ToolLink, useLoaded } from './parts.tsx'
import { Cells, Choice, type Column, Filter, Head, shownOf, sorted } from './tables.tsx'

/** In pixels, as in the style sheet. */
const ROW_HEIGHT = 42

const COLUMNS: readonly Column<ConsoleTool>[] = [
  {
    key: 'path',
    title: 'Tool',
    by: ({ path }) => path,
    cell: ({ path, summary, held }) => (
      <>
        <ToolLink path={path} />
        {held && <span class="bad"> held</span>}
        <span class="sub line">{plain(summary, 160)}</span>
      </>
    ),
  },
  {
    key: 'category',
    title: 'Category',
    by: ({ category = '' }) => category,
    cell: ({ category }) => plain(category, 40),
  },
  {
    key: 'notes',
    title: 'Annotations',
    by: ({ notes }) => notes.join(),
    cell: ({ notes }) =>
      notes.map(note => (note === 'destructive' ? <b key={note}>destructive </b> : `${note} `)),
  },
  {
    key: 'tokens',
    title: 'Tokens',
    right: true,
    by: ({ tokens }) => tokens,
    cell: ({ tokens }) => count(tokens),
  },
]

export function Tools() {
  const { get, known } = useStore()
  const loaded = useLoaded('tools', () => get<ConsoleTool[]>('tools'), listsVersion(known.value.state))
  return <Content of={loaded}>{tools => <List tools={tools} />}</Content>
}

function List({ tools }: { tools: readonly ConsoleTool[] }) {
  const { route, choose } = useStore()
  const { sort = 'path', filter = '', server = '', category = '', says = '' } = route.value.chosen
  const wanted = sorted(
    tools.filter(tool => isWanted(tool, { filter, server, category, says })),
    COLUMNS,
    sort,
  )
  const servers = [...new Set(tools.map(tool => tool.server))].sort()
  const categories = [...new Set(tools.flatMap(tool => tool.category ?? []))].sort()
  const notes = [...new Set(tools.flatMap(tool => tool.notes))].sort()
  return (
    <>
      <div class="title">
        <h1>Tools</h1>
        <Filter of="tools" />
        <Choice label="Server" of="server" options={servers} />
        {categories.length > 0 && <Choice label="Category" of="category" options={categories} />}
        <Choice label="Annotation" of="says" all="Annotations: all" options={[...notes, 'held']} />
        <span class="note" role="status">
          {shownOf(wanted.length, tools.length)}
          {`, ${count(wanted.reduce((sum, { tokens }) => sum + tokens, 0))} tokens`}
        </span>
      </div>
      {wanted.length === 0 ? (
        <NoTools isNew={tools.length === 0} />
      ) : (
        <Windowed tools={wanted} sort={sort} onSort={next => choose({ sort: next })} />
      )}
    </>
  )
}

function NoTools({ isNew }: { isNew: boolean }) {
  return (
    <Empty>
      <p>
        {isNew ? 'No tools are known yet.' : 'No tool matches.'} <Link page="search">Search</Link> finds tools
        by their meaning, too.
      </p>
    </Empty>
  )
}

/** The table in a frame that scrolls; the rows to draw depend on the frame's position and height. */
function Windowed(props: { tools: readonly ConsoleTool[]; sort: string; onSort(sort: string): void }) {
  const { tools, sort, onSort } = props
  const frame = useRef<HTMLElement>(null)
  const [view, setView] = useState({ scrolled: 0, height: 800 })
  const measure = () =>
    frame.current && setView({ scrolled: frame.current.scrollTop, height: frame.current.clientHeight })
  useEffect(() => {
    measure()
    addEventListener('resize', measure)
    return () => removeEventListener('resize', measure)
  }, [tools.length])
  const { first, end, above, below } = windowOf(tools.length, ROW_HEIGHT, view.scrolled, view.height)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard
    <section class="window" ref={frame} onScroll={measure} tabIndex={0} aria-label="All tools">
      <table class="tools" aria-rowcount={tools.length + 1}>
        <Head columns={COLUMNS} sort={sort} onSort={onSort} />
        <tbody>
          {above > 0 && <Space height={above} />}
          {tools.slice(first, end).map((tool, at) => (
            <tr key={tool.path} aria-rowindex={first + at + 2}>
              <Cells columns={COLUMNS} row={tool} />
            </tr>
          ))}
          {below > 0 && <Space height={below} />}
        </tbody>
      </table>
    </section>
  )
}

/** Takes the space of rows that are not drawn. */
function Space({ height }: { height: number }) {
  return (
    <tr class="space">
      <td colSpan={COLUMNS.length} style={{ height: `${height}px` }} />
    </tr>
  )
}

/** `says`: an annotation, or `held`. Empty texts match every tool. */
type Chosen = { filter: string; server: string; category: string; says: string }

function isWanted(tool: ConsoleTool, chosen: Chosen): boolean {
  const { path, title = '', summary, server, category = '', notes, held } = tool
  const text = `${path} ${title} ${summary} ${category}`.toLowerCase()
  return (
    (chosen.server === '' || server === chosen.server) &&
    (chosen.category === '' || category === chosen.category) &&
    (chosen.says === '' || notes.includes(chosen.says) || (chosen.says === 'held' && held === true)) &&
    chosen.filter
      .toLowerCase()
      .split(/\s+/)
      .every(word => text.includes(word))
  )
}
