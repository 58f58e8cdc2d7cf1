/** The alerts in the rule tests of Prometheus's own promtool, with series that are meant to make them fire or not. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { run } from '../cluster/command.ts'
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
