/** Renders a dashboard as JSON for Grafana, with the builders of Grafana's SDK. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import {
  BigValueColorMode,
  BigValueTextMode,
  LegendDisplayMode,
  ReduceDataOptionsBuilder,
  StackingConfigBuilder,
  StackingMode,
  VizLegendOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common'
import {
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  MappingType,
  type Panel,
  QueryVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus'
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat'
import { PanelBuilder as StatesBuilder } from '@grafana/grafana-foundation-sdk/statetimeline'
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table'
import { PanelBuilder as LinesBuilder } from '@grafana/grafana-foundation-sdk/timeseries'
import type { DashboardContent, PanelContent, RowContent, Variable, Words } from './content.ts'

const TAG = 'portolan'
const DATASOURCE = { type: 'prometheus', uid: '$datasource' }
/** The width of a row in Grafana's grid. */
const WIDTH = 24
const NUMBER_HEIGHT = 4
const CHART_HEIGHT = 8
const CHARTS_IN_A_ROW = 3
const FILL_OPACITY = 20

/** Returns the JSON text that Grafana imports. */
export function renderDashboard(content: DashboardContent): string {
  const dashboard = new DashboardBuilder(content.title)
    .uid(`${TAG}-${content.name}`)
    .description(content.description)
    .tags([TAG])
    .editable()
    .refresh('30s')
    .time({ from: 'now-1h', to: 'now' })
    .timezone('browser')
    .tooltip(DashboardCursorSync.Crosshair)
    .link(linksToOthers())
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
  for (const variable of content.variables) dashboard.withVariable(variableOf(variable))
  let id = 1
  for (const row of content.rows) {
    dashboard.withRow(new RowBuilder(row.title).id(id++))
    for (const panel of row.panels) dashboard.withPanel(panelOf(panel, row, id++))
  }
  return `${JSON.stringify(dashboard.build(), null, 2)}\n`
}

function linksToOthers(): DashboardLinkBuilder {
  return new DashboardLinkBuilder('Portolan')
    .type(DashboardLinkType.Dashboards)
    .tags([TAG])
    .includeVars(true)
    .keepTime(true)
}

/** A variable with all values selected by default; "All" also includes series without the label. */
function variableOf({ name, label, query, single }: Variable): QueryVariableBuilder {
  const variable = new QueryVariableBuilder(name)
    .label(label)
    .datasource(DATASOURCE)
    .query(query)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
  if (single) return variable
  return variable.multi(true).includeAll(true).allValue('.*').current({ text: 'All', value: '$__all' })
}

function panelOf(content: PanelContent, row: RowContent, id: number): Builder<Panel> {
  const small = isSmall(content)
  const beside = row.panels.filter(panel => isSmall(panel) === small).length
  const columns = small ? beside : Math.min(beside, CHARTS_IN_A_ROW)
  const panel = shapeOf(content)
    .id(id)
    .title(content.title)
    .description(content.description)
    .unit(content.unit)
    .datasource(DATASOURCE)
    .span(Math.floor(WIDTH / columns))
    .height(small ? NUMBER_HEIGHT : CHART_HEIGHT)
  for (const [at, query] of content.queries.entries()) panel.withTarget(targetOf(query, content, at))
  if (content.words) panel.mappings([mappingOf(content.words)])
  return panel
}

function isSmall({ kind }: PanelContent): boolean {
  return kind === 'number' || kind === 'name'
}

function shapeOf({ kind, alarm, words }: PanelContent) {
  switch (kind) {
    case 'number':
    case 'name':
      return new StatBuilder()
        .textMode(kind === 'name' ? BigValueTextMode.Name : BigValueTextMode.Value)
        .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']))
        .colorMode(alarm || words ? BigValueColorMode.Value : BigValueColorMode.None)
        .thresholds(thresholdsOf(alarm))
    case 'states':
      return new StatesBuilder().thresholds(thresholdsOf(undefined))
    case 'table':
      return new TableBuilder().withTransformation({
        id: 'organize',
        options: { excludeByName: { Time: true, Value: true } },
      })
    case 'lines':
      return charts()
    case 'areas':
      return charts()
        .fillOpacity(FILL_OPACITY)
        .stacking(new StackingConfigBuilder().mode(StackingMode.Normal))
  }
}

function charts(): LinesBuilder {
  const legend = new VizLegendOptionsBuilder().displayMode(LegendDisplayMode.List).showLegend(true)
  return new LinesBuilder().legend(legend).axisSoftMin(0)
}

function thresholdsOf(alarm: PanelContent['alarm']): ThresholdsConfigBuilder {
  const [below, above] = alarm?.reverse ? ['red', 'green'] : ['green', 'red']
  const steps = alarm
    ? [
        { value: null, color: below },
        { value: alarm.at, color: above },
      ]
    : [{ value: null, color: 'text' }]
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps)
}

function mappingOf(words: Words): ValueMapping {
  const options = Object.entries(words).map(([value, [text, color]]) => [value, { text, color }] as const)
  return { type: MappingType.ValueToText, options: Object.fromEntries(options) }
}

function targetOf([expr, legend]: PanelContent['queries'][number], { kind }: PanelContent, at: number) {
  const query = new DataqueryBuilder().refId(String.fromCharCode(65 + at)).expr(expr)
  if (legend !== undefined) query.legendFormat(legend)
  if (kind === 'table') return query.instant().format(PromQueryFormat.Table)
  return isSmall({ kind } as PanelContent) ? query.instant() : query.range()
}
