/** What a router reports about its rules: in the log when they change, and in the status that the operator reads. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { createLog } from '../../core/log.ts'
import { startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { echo, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { until } from '../support/until.ts'
import { rule, SERVERS, TOKENS } from './access-router.ts'

test('a rule that matches nothing is logged once, and reported at the admin port', async t => {
  const lines: { msg: string; path?: string; detail?: string }[] = []
  const source = createInProcessSource()
  const router = await startRouter({
    source,
    connect: () => upstreamOf(echo),
    host: '127.0.0.1',
    port: 0,
    log: createLog({ level: 'warn', destination: { write: line => void lines.push(JSON.parse(line)) } }),
    credentials: { secret: () => ({ red: 'x'.repeat(40) }) },
    admin: { host: '127.0.0.1', port: 0, pod: 'one', gateway: 'tools', missing: () => [] },
  })
  t.after(() => router.close(0))
  const publish = async (generation: number, allow: string[]) => {
    const rules = [
      rule('red', 'vermilion', { tools: { allow, deny: [], readOnly: false } }),
      rule('blue', 'cobalt'),
    ]
    const access = { ...OPEN_ACCESS, auth: TOKENS, rules }
    source.publish(snapshotOf(SERVERS, { access }, generation))
    await until(() => router.catalog()?.generation === generation)
    const answer = await fetch(`http://127.0.0.1:${router.adminAddress?.port}/status`)
    return ((await answer.json()) as { access: { report: { rules: object[]; findings: object[] } } }).access
  }
  const logged = () =>
    lines.filter(({ msg }) => msg === 'the access rules have a problem').map(({ path }) => path)
  const first = await publish(1, ['vermilion_get', 'vermilion_gett'])
  assert.deepEqual(first.report.rules, [
    { name: 'red', servers: 1, tools: 1 },
    { name: 'blue', servers: 1, tools: 3 },
  ])
  assert.deepEqual(logged(), ['spec.access[0].tools.allow[1]', 'spec.access[1].subjects[0]'])
  await publish(2, ['vermilion_get', 'vermilion_gett'])
  assert.equal(logged().length, 2)
  assert.equal((await publish(3, ['vermilion_get'])).report.findings.length, 1)
  await publish(4, ['vermilion_gett'])
  assert.deepEqual(logged().slice(2), ['spec.access', 'spec.access[0].tools.allow[0]'].reverse())
})
