/** Metrics that all processes export. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import packageJson from '../package.json' with { type: 'json' }
import { createRegistry } from './metrics.ts'

test('the operator and routers export their version and component', async () => {
  for (const component of ['operator', 'router'] as const) {
    const text = await createRegistry(component).getSingleMetricAsString('portolan_build_info')
    const { version } = packageJson
    assert.match(
      text,
      new RegExp(`^portolan_build_info{version="${version}",component="${component}"} 1$`, 'm'),
    )
  }
})
