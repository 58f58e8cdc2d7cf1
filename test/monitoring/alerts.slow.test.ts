/** The alerts, and panels that count objects, in the rule tests of Prometheus's own promtool, with series that are meant to make them fire or not. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { run } from '../cluster/command.ts'
import { queryOf } from './answers.ts'
import { readyPrometheus } from './programs.ts'
import { ALERT_FILES, alertRules } from './shipped.ts'

const programs = await readyPrometheus()
const skip = programs ? false : 'no Prometheus: apt-get download prometheus'

test('alerts fire on their conditions, and not before', { skip }, async () => {
  const promtool = programs?.promtool ?? ''
  await run([promtool, 'check', 'rules', ...ALERT_FILES])
  await run([promtool, 'test', 'rules', join(import.meta.dirname, 'alerts.yaml')])
  const cases = readFileSync(join(import.meta.dirname, 'alerts.yaml'), 'utf8')
  for (const { alert } of alertRules())
    assert.match(cases, new RegExp(`alertname="${alert}"`), `${alert} has no case`)
})

test('panels count objects once for two operators of a release, and add those of several releases', {
  skip,
}, async t => {
  const of = (namespace: string, pod: string, labels: string, count: number) => ({
    series: `portolan_objects{namespace="${namespace}", pod="${pod}", kind="McpServer", ${labels}}`,
    values: `${count}x9`,
  })
  const crashing = 'ready="False", reason="CrashLooping"'
  const unknown = 'ready="Unknown", reason="CrashLooping"'
  const input_series = [
    of('one', 'a', crashing, 3),
    of('one', 'b', crashing, 3),
    of('one', 'a', unknown, 1),
    of('two', 'c', crashing, 2),
    of('two', 'c', 'ready="True", reason="Ready"', 5),
  ]
  const shown = (title: string, ...exp_samples: { labels: string; value: number }[]) => {
    return {
      expr: queryOf('Operator', title, { namespace: '.*', gateway: '', server: '' }),
      eval_time: '5m',
      exp_samples,
    }
  }
  const promql_expr_test = [
    shown('Servers not ready', { labels: '{}', value: 6 }),
    shown(
      'McpServers by reason',
      { labels: '{reason="CrashLooping"}', value: 6 },
      { labels: '{reason="Ready"}', value: 5 },
    ),
  ]
  const folder = mkdtempSync(join(tmpdir(), 'portolan-panels-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'panels.json')
  writeFileSync(file, JSON.stringify({ tests: [{ interval: '1m', input_series, promql_expr_test }] }))
  await run([programs?.promtool ?? '', 'test', 'rules', file])
})
