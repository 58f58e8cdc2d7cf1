/** The output of a histogram equals that of prom-client's own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Histogram, Registry } from 'prom-client'
import { createHistogram } from './histogram.ts'

const OPTIONS = { name: 'portolan_seconds', help: 'Seconds.', buckets: [0.1, 1, 10] }
const VALUES = [0, 0.1, 0.100001, 0.5, 1, 10, 11, 1_000]

test('a histogram is printed exactly as prom-client prints one of the same values', async () => {
  const [ours, theirs] = [new Registry(), new Registry()]
  const series = createHistogram(ours, OPTIONS)
  const prom = new Histogram({ ...OPTIONS, labelNames: ['part'], registers: [theirs] })
  for (const part of ['router', 'upstream']) {
    const observe = series({ part })
    for (const value of VALUES) {
      observe(value)
      prom.observe({ part }, value)
    }
  }
  assert.equal(await ours.metrics(), await theirs.metrics())
})

test('a series without values is printed with zeros', async () => {
  const registry = new Registry()
  createHistogram(registry, OPTIONS)({})
  const text = await registry.getSingleMetricAsString('portolan_seconds')
  assert.match(text, /^portolan_seconds_bucket\{le="\+Inf"\} 0$/m)
  assert.match(text, /^portolan_seconds_count 0$/m)
})
