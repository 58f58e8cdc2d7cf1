/** Tables. The URL has their filter and their order. */
import type { ComponentChildren } from 'preact'
import { count, plain } from '../format.ts'
import { useStore } from '../store.ts'

export type Column<T> = {
  key: string
  title: string
  /** For numbers: aligned to the right, and first sorted in descending order. */
  right?: boolean
  /** The value to sort by; absent if rows cannot be sorted by this column. */
  by?: (row: T) => string | number
  cell: (row: T) => ComponentChildren
}

/** A sorted copy of the rows. `sort`: as in Table; if rows cannot be sorted by it, their order stays. */
export function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], sort: string): T[] {
  const isDescending = sort.startsWith('-')
  const by = columns.find(({ key }) => key === sort.replace(/^-/, ''))?.by
  if (!by) return [...rows]
  const sign = isDescending ? -1 : 1
  return rows.toSorted((a, b) => {
    const [x, y] = [by(a), by(b)]
    return x === y ? 0 : (x < y ? -1 : 1) * sign
  })
}

/** A table with a column for each of `columns`. `sort`: a column's key, with `-` for descending order. */
export function Table<T>(props: {
  /** The CSS class. */
  name: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  sort: string
  keyOf(row: T): string
  /** Whether the row is marked, because its server is down. */
  isDown?(row: T): boolean
}) {
  const { name, columns, rows, sort, keyOf, isDown } = props
  const { choose } = useStore()
  return (
    <div class="scroll">
      <table class={name}>
        <Head columns={columns} sort={sort} onSort={next => choose({ sort: next })} />
        <tbody>
          {sorted(rows, columns, sort).map(row => (
            <tr key={keyOf(row)} class={isDown?.(row) ? 'down' : ''}>
              <Cells columns={columns} row={row} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function Cells<T>({ columns, row }: { columns: readonly Column<T>[]; row: T }) {
  return (
    <>
      {columns.map(({ key, cell, right }) => (
        <td key={key} class={`of-${key} ${right ? 'right' : ''}`}>
          {cell(row)}
        </td>
      ))}
    </>
  )
}

/** The text field of the filter. `of`: what is filtered, in words. */
export function Filter({ of, placeholder = 'Filter' }: { of: string; placeholder?: string }) {
  const { route, choose } = useStore()
  return (
    <input
      type="search"
      aria-label={`Filter ${of}`}
      placeholder={placeholder}
      value={route.value.chosen.filter ?? ''}
      onInput={event => choose({ filter: event.currentTarget.value })}
    />
  )
}

/** `12`, or `3 of 12` if some are filtered out. */
export function shownOf(shown: number, all: number): string {
  return shown === all ? count(all) : `${count(shown)} of ${count(all)}`
}

/** A selection of one value, or of all. `of`: its name in the URL; `all`: the text of the option for all values. */
export function Choice(props: { label: string; of: string; all?: string; options: readonly string[] }) {
  const { label, of, options, all = `${label}: all` } = props
  const { route, choose } = useStore()
  const value = route.value.chosen[of] ?? ''
  const known = value === '' || options.includes(value) ? options : [value, ...options]
  return (
    <select aria-label={label} value={value} onChange={event => choose({ [of]: event.currentTarget.value })}>
      <option value="">{all}</option>
      {known.map(option => (
        <option key={option} value={option}>
          {plain(option, 100)}
        </option>
      ))}
    </select>
  )
}

/** The head of a table, with buttons that sort its rows. `sort` as in Table. */
export function Head<T>(props: { columns: readonly Column<T>[]; sort: string; onSort(sort: string): void }) {
  const { columns, sort, onSort } = props
  const key = sort.replace(/^-/, '')
  const isDescending = sort.startsWith('-')
  const next = (column: Column<T>) => {
    if (column.key === key) return isDescending ? column.key : `-${column.key}`
    return column.right ? `-${column.key}` : column.key
  }
  return (
    <thead>
      <tr>
        {columns.map(column => {
          const order = column.key !== key ? undefined : isDescending ? 'descending' : 'ascending'
          return (
            <th key={column.key} scope="col" class={column.right ? 'right' : ''} aria-sort={order}>
              {column.by ? (
                <button type="button" onClick={() => onSort(next(column))}>
                  {column.title}
                  <span aria-hidden="true">{order ? (isDescending ? ' ↓' : ' ↑') : ''}</span>
                </button>
              ) : (
                column.title
              )}
            </th>
          )
        })}
      </tr>
    </thead>
  )
}
