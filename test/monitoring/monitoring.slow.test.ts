/** Every query of every panel and alert is answered by a real Prometheus that scraped a running operator and router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipApiServer, startApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { assertPanelsShowData, assertRulesAreEvaluated, queryOf } from './answers.ts'
import { readyPrometheus } from './programs.ts'
import { type Prometheus, startPrometheus } from './prometheus.ts'
import { configOfTargets } from './scrape.ts'
import { ALERT_FILES } from './shipped.ts'
import { DOWN, GATEWAY, LOST, NAMESPACE, SLEEPER, startSystem, WELL } from './system.ts'

const programs = await readyPrometheus()
const skip = skipApiServer() || (programs ? false : 'no Prometheus: apt-get download prometheus')
const VARIABLES = { namespace: NAMESPACE, gateway: GATEWAY, server: WELL }

test('dashboards and alerts show what an operator and a router measure', {
  skip,
  timeout: 180_000,
}, async t => {
  const api = await startApiServer()
  t.after(() => api.stop())
  const system = await startSystem(t, api)
  const config = configOfTargets(system.targets, ALERT_FILES)
  const prometheus = await startPrometheus({ prometheus: programs?.prometheus ?? '', config })
  t.after(() => prometheus.stop())
  const stopping = new AbortController()
  const working = system.work(stopping.signal)
  try {
    await t.test('every query of every panel gives numbers', () =>
      assertPanelsShowData(prometheus, VARIABLES, { ...VARIABLES, server: SLEEPER }),
    )
    await t.test('panels show true numbers', () => numbersAreTrue(prometheus))
    await t.test(
      'every rule is evaluated over existing metrics, and has an alert for the unreachable server',
      async () => {
        const rules = await assertRulesAreEvaluated(prometheus)
        const failing = rules.find(({ name }) => name === 'PortolanDiscoveryFailing')
        assert.deepEqual(
          failing?.alerts.map(({ labels }) => [labels.namespace, labels.server]),
          [[NAMESPACE, DOWN]],
        )
      },
    )
  } finally {
    stopping.abort()
    await working
  }
})

async function numbersAreTrue(prometheus: Prometheus): Promise<void> {
  await until('the breaker of the server whose connection was lost opens', async () => {
    const [states] = await prometheus.ask([`portolan_upstream_breaker_state{server="${LOST}"}`])
    return states?.some(({ value }) => value === 2)
  })
  const shown = (dashboard: string, title: string) => queryOf(dashboard, title, VARIABLES)
  // Two of five calls fail; while a round is not finished, up to half of those that are counted.
  await until('the share of failed calls is near 0.4', async () => {
    const [[errors] = []] = await prometheus.ask([shown('Overview', 'Errors')])
    return errors !== undefined && errors.value > 0.1 && errors.value < 0.5
  })
  const answers = await prometheus.ask([
    shown('Overview', 'Unavailable servers'),
    shown('Server', 'Ready'),
    shown('Server', 'List read'),
    shown('Operator', 'Servers that are not ready'),
    shown('Operator', 'Leader'),
  ])
  const [unavailable, ready, read, notReady, leader] = answers.map(([sample]) => sample)
  assert.equal(unavailable?.value, 1)
  assert.deepEqual([ready?.metric.reason, ready?.value], ['Ready', 1])
  assert.ok(read && read.value < 60)
  assert.deepEqual(notReady?.metric, { namespace: NAMESPACE, server: DOWN, reason: 'Unreachable' })
  assert.equal(leader?.metric.pod, 'operator-1')
}
