/** Dashboards and alerts as the chart ships them: their panels, queries and rules. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { CHART } from '../chart/helm.ts'

export type Panel = {
  dashboard: string
  type: string
  title: string
  description?: string
  unit?: string
  queries: string[]
}
export type AlertRule = {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string; description: string; runbook: string }
}

type DashboardJson = {
  title: string
  uid: string
  templating: { list: { name: string; multi?: boolean; includeAll?: boolean }[] }
  panels: {
    type: string
    title: string
    description?: string
    fieldConfig?: { defaults: { unit?: string } }
    targets?: { expr: string }[]
  }[]
}

export const DASHBOARDS = filesOf('dashboards')
export const ALERT_FILES = filesOf('alerts')

export function dashboards(): DashboardJson[] {
  return DASHBOARDS.map(path => JSON.parse(readFileSync(path, 'utf8')) as DashboardJson)
}

/** Without rows, which only group panels. */
export function panels(): Panel[] {
  return dashboards().flatMap(({ title: dashboard, panels }) =>
    panels
      .filter(({ type }) => type !== 'row')
      .map(({ type, title, description, fieldConfig, targets = [] }) => {
        const queries = targets.map(({ expr }) => expr)
        return { dashboard, type, title, description, unit: fieldConfig?.defaults.unit, queries }
      }),
  )
}

export function alertRules(): AlertRule[] {
  type File = { groups: { rules: AlertRule[] }[] }
  return ALERT_FILES.flatMap(path =>
    (parse(readFileSync(path, 'utf8')) as File).groups.flatMap(({ rules }) => rules),
  )
}

/** Names of the metrics in an expression. */
export function metricsIn(expr: string): string[] {
  return [...new Set(expr.match(/\b(?:portolan|process|nodejs)_\w+/g))]
}

/** As Grafana fills variables in before it asks. */
export function filledIn(expr: string, variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables).reduce((text, [name, value]) => text.replaceAll(`$${name}`, value), expr)
}

function filesOf(folder: string): string[] {
  return readdirSync(join(CHART, folder))
    .sort()
    .map(name => join(CHART, folder, name))
}
