/** The content of a dashboard as data, independent of Grafana's format. */

/** A PromQL expression, and the legend of its series, with labels such as `{{server}}`. */
export type Query = readonly [expr: string, legend?: string]

/** Units as Grafana names them. */
export type Unit = 's' | 'ops' | 'short' | 'none' | 'percentunit' | 'bytes'

/** Words that are shown instead of numbers, with their colors. */
export type Words = Readonly<Record<number, readonly [word: string, color: Color]>>
export type Color = 'green' | 'orange' | 'red' | 'text'

export type PanelContent = {
  /** `number`: the last value; `name`: the legend of the series; `lines` and `areas` over time; `states`: words over time; `table`: the labels. */
  kind: 'number' | 'name' | 'lines' | 'areas' | 'states' | 'table'
  title: string
  /** What the panel means, and what to do. */
  description: string
  unit: Unit
  queries: readonly Query[]
  words?: Words
  /** Values from `at` on are red; with `reverse`, values below it. */
  alarm?: { at: number; reverse?: true }
}

export type RowContent = { title: string; panels: readonly PanelContent[] }

export type Variable = { name: string; label: string; query: string; single?: true }

export type DashboardContent = {
  /** The name of its file; its uid in Grafana is `portolan-<name>`. */
  name: string
  title: string
  description: string
  variables: readonly Variable[]
  rows: readonly RowContent[]
}
