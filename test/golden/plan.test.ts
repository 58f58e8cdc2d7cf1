/** Plans of servers and gateways: `plan/<case>.yaml` are manifests and the world, `<case>.expected` what follows. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { decodeFeed } from '../../core/catalog/feed-text.ts'
import { gatewayStatus } from '../../crds/gateway.ts'
import { serverStatus } from '../../crds/server.ts'
import { PLAN_CASES, planCases } from '../support/plan-cases.ts'

const cases = planCases()

test('there are at least thirty cases', () => assert.ok(cases.length >= 30, String(cases.length)))

for (const { name, plans, show } of cases) {
  test(`plan/${name} is planned as in its golden file`, t => {
    const shown = plans.map(plan => {
      const { config, ...rest } = { config: undefined, ...plan }
      // The feed has it too: shown by itself only where a case asks for it.
      const own = show?.includes('config') ? { config } : {}
      const entries = Object.entries({ ...rest, ...own, objects: rest.objects.map(readable) })
      return Object.fromEntries(entries.filter(([field]) => !show || show.includes(field)))
    })
    const text = shown.map(plan => stringify(plan, { aliasDuplicateObjects: false, lineWidth: 120 })).join('---\n')
    t.assert.fileSnapshot(text, join(PLAN_CASES, `${name}.expected`), { serializers: [String] })
  })
}

test('the status of servers and gateways satisfies their own schemas', () => {
  for (const { name, plans } of cases) {
    for (const { status } of plans) {
      const conditions = status.conditions.map(condition => ({ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }))
      const schema = 'config' in (plans[0] ?? {}) ? gatewayStatus : serverStatus
      assert.equal(schema.safeParse({ ...status, conditions }).error, undefined, name)
    }
  }
})

test('planning twice gives the same bytes', () => {
  for (const [at, { name, plans }] of planCases().entries())
    assert.equal(JSON.stringify(plans), JSON.stringify(cases[at]?.plans), name)
})

/** Compressed bytes differ from one machine to another. */
function readable(object: object): object {
  const { binaryData } = object as { binaryData?: { feed?: string } }
  if (!binaryData?.feed) return object
  return { ...object, binaryData: { feed: decodeFeed(Buffer.from(binaryData.feed, 'base64')) } }
}
