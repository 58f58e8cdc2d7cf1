/** Every scenario that the two revisions require passes on every path; the path through a cluster is among the end-to-end stories. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testGatewayAsClient } from './client.ts'
import { judge } from './judge.ts'
import { ALL, reportOn } from './passing.ts'
import { PATHS } from './paths.ts'
import { REVISIONS, testServer } from './suite.ts'

/** A server on stdio gets no headers, only arguments and `_meta`. */
const WITHOUT_HEADERS = ['stdio', 'bridge']

for (const [name, open] of Object.entries(PATHS)) {
  test(`the path ${name} conforms`, async t => {
    const path = await open()
    t.after(() => path.stop())
    for (const revision of REVISIONS) {
      await t.test(`to ${revision}`, async t =>
        judge(t, name, revision, await testServer(path.url, revision)),
      )
      await t.test(`passes on all parts of a call of ${revision}`, async () => {
        const expected = WITHOUT_HEADERS.includes(name) ? { ...ALL, headers: {} } : ALL
        assert.deepEqual(await reportOn(path.url, revision), expected)
      })
    }
  })
}

test('what the gateway sends to upstreams conforms', async t => {
  for (const revision of REVISIONS)
    await t.test(`to ${revision}`, async t =>
      judge(t, 'client', revision, await testGatewayAsClient(revision)),
    )
})
