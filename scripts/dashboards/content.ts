/** What a dashboard consists of, as data: what is shown and asked, not how Grafana wants it written. */

/** PromQL, and the name of each series that it gives, with labels as `{{server}}`. */
export type Query = readonly [expr: string, legend?: string]

/** Units as Grafana names them. */
export type Unit = 's' | 'ops' | 'short' | 'none' | 'percentunit' | 'bytes'

/** Words in place of numbers, each in its color. */
export type Words = Readonly<Record<number, readonly [word: string, color: Color]>>
export type Color = 'green' | 'orange' | 'red' | 'text'

export type PanelContent = {
  /** `number`: the last value; `name`: the name of the series; `lines` and `areas` over time; `states`: words over time; `table`: the labels. */
  kind: 'number' | 'name' | 'lines' | 'areas' | 'states' | 'table'
  title: string
  /** What it means, and what to do about it. */
  description: string
  unit: Unit
  queries: readonly Query[]
  words?: Words
  /** From which value on it is bad; below, where `reverse` is set. */
  alarm?: { at: number; reverse?: true }
}

export type RowContent = { title: string; panels: readonly PanelContent[] }

export type Variable = { name: string; label: string; query: string; single?: true }

export type DashboardContent = {
  /** Its file, and its address in Grafana: `portolan-<name>`. */
  name: string
  title: string
  description: string
  variables: readonly Variable[]
  rows: readonly RowContent[]
}
