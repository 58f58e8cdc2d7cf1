/** Panels and alerts are complete: they say what to do, and use metrics that are exported and documented. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { createBridgeMetrics } from '../../bridge/metrics.ts'
import { createOperatorMetrics } from '../../operator/runtime/operator-metrics.ts'
import { createRouterMetrics } from '../../router/metrics.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { alertRules, dashboards, metricsIn, panels } from './shipped.ts'

const root = join(import.meta.dirname, '..', '..')
const page = readFileSync(join(root, 'docs', 'metrics.md'), 'utf8')
const clock = createManualClock()
const router = createRouterMetrics(
  clock,
  () => [],
  () => [],
)
const bridge = createBridgeMetrics()
const exported = [
  ...[router, createOperatorMetrics(clock)].flatMap(({ registry }) =>
    registry.getMetricsAsArray().map(({ name }) => name),
  ),
  ...[...bridge.text().matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name),
]
const own = new Set(exported.filter(name => name.startsWith('portolan_')))

test('every panel has a unique title and a unit, and says what to do', () => {
  const titles = new Set<string>()
  for (const { dashboard, title, description = '', unit } of panels()) {
    assert.ok(unit, `${dashboard}: ${title} has no unit`)
    assert.match(description, /\S{3}.{30,}[.]$/, `${dashboard}: ${title}`)
    assert.ok(!titles.has(`${dashboard} ${title}`), `${dashboard} has the title ${title} twice`)
    titles.add(`${dashboard} ${title}`)
  }
})

test('every dashboard lets its data source be chosen, and uses each of its variables', () => {
  for (const { uid, templating, panels } of dashboards()) {
    const [first, ...others] = templating.list.map(({ name }) => name)
    assert.equal(first, 'datasource')
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join('\n')
    for (const name of others) assert.ok(queries.includes(`$${name}`), `${uid} does not use ${name}`)
  }
})

test('the dashboard of a server shows one namespace, so that servers of the same name are not mixed', () => {
  const lists = dashboards().flatMap(({ uid, templating }) =>
    uid === 'portolan-server' ? templating.list : [],
  )
  const several = lists.filter(({ multi, includeAll }) => multi || includeAll)
  assert.deepEqual(
    several.map(({ name }) => name),
    ['gateway'],
  )
})

test('the number "Errors" and the panel that it points to count the same outcomes', () => {
  const outcomesOf = (title: string) => {
    const queries =
      panels()
        .find(panel => panel.title === title)
        ?.queries.join() ?? ''
    return new Set([...queries.matchAll(/outcome\W+"[^"]*"/g)].map(([outcomes]) => outcomes))
  }
  assert.equal(outcomesOf('Errors').size, 1)
  assert.deepEqual(outcomesOf('Errors by server'), outcomesOf('Errors'))
})

test('panels and alerts use only exported metrics', () => {
  const known = new Set(exported.flatMap(name => [name, `${name}_bucket`, `${name}_count`, `${name}_sum`]))
  const asked = [
    ...panels().flatMap(({ queries }) => queries),
    ...alertRules().map(({ expr }) => expr),
  ].flatMap(metricsIn)
  assert.deepEqual(
    asked.filter(name => !known.has(name)),
    [],
  )
})

test('the page on metrics names every metric, and no other', () => {
  const named = new Set([...page.matchAll(/^\| `(portolan_\w+)`/gm)].map(([, name]) => name ?? ''))
  assert.deepEqual([...named].sort(), [...own].sort())
})

test('every alert has a severity, says what to do, and links to a section of the page on metrics', () => {
  const anchors = [...page.matchAll(/^#+ (\w+)$/gm)].map(
    ([, heading = '']) => `docs/metrics.md#${heading.toLowerCase()}`,
  )
  for (const { alert, labels, annotations } of alertRules()) {
    assert.match(labels.severity, /^(critical|warning|info)$/, alert)
    assert.match(annotations.summary, /\S/, alert)
    assert.match(annotations.description, /\.$/, alert)
    assert.equal(annotations.runbook, `docs/metrics.md#${alert.toLowerCase()}`)
    assert.ok(anchors.includes(annotations.runbook), `${annotations.runbook} does not exist`)
  }
})

test('the scrape configuration on the page takes labels only from the operator, in its own namespace', () => {
  const [, yaml = ''] = /^```yaml\n(scrape_configs:\n[^`]+)```/m.exec(page) ?? []
  const { scrape_configs: jobs } = parse(yaml) as { scrape_configs: Job[] }
  assert.deepEqual(
    jobs.map(job => [job.job_name, job.honor_labels, job.kubernetes_sd_configs]),
    [
      ['portolan-operator', true, [{ role: 'pod', namespaces: { names: ['portolan-system'] } }]],
      ['portolan', undefined, [{ role: 'pod' }]],
      ['portolan-sidecars', undefined, [{ role: 'pod' }]],
    ],
  )
  const added = jobs.map(job => job.relabel_configs.flatMap(({ target_label }) => target_label ?? []))
  const always = ['namespace', 'pod', 'container']
  assert.deepEqual(added, [always, [...always, 'gateway', 'server'], [...always, 'gateway']])
})

type Job = {
  job_name: string
  honor_labels?: true
  kubernetes_sd_configs: object[]
  relabel_configs: { target_label?: string }[]
}
