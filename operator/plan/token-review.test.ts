/** Which routers may review tokens: only those of gateways that ask for it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type McpGateway, mcpGatewaySchema } from '../../crds/gateway.ts'
import { reviewProblems, reviewSubjects } from './token-review.ts'

function gateway(namespace: string, name: string, auth?: object): McpGateway {
  const kind = { apiVersion: 'portolan.dev/v1alpha1', kind: 'McpGateway' }
  return mcpGatewaySchema.parse({ ...kind, metadata: { namespace, name }, spec: { auth } })
}

const reviewed = { serviceAccounts: { review: '60s' } }

test('the subjects are the routers of gateways that ask for reviews, in the same order however they are listed', () => {
  const asking = [gateway('b', 'x', reviewed), gateway('a', 'y', reviewed), gateway('a', 'x', reviewed)]
  const others = [gateway('a', 'open'), gateway('a', 'keys', { serviceAccounts: {} })]
  const subjects = reviewSubjects([...asking, ...others])
  assert.deepEqual(subjects, reviewSubjects([...others, ...asking.toReversed()]))
  assert.deepEqual(
    subjects.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`),
    ['ServiceAccount a/x-gateway', 'ServiceAccount a/y-gateway', 'ServiceAccount b/x-gateway'],
  )
})

test('a gateway that asks for reviews is refused where no router may review, with what to do', () => {
  const [problem, ...more] = reviewProblems(gateway('a', 'x', reviewed), { tokenReviewBinding: '' })
  assert.deepEqual([problem?.reason, problem?.path], ['NotEnforced', 'spec.auth.serviceAccounts.review'])
  assert.match(
    problem?.message ?? '',
    /would answer 503 to every ServiceAccount: remove it, or set the chart's value tokenReview\.enabled to true/,
  )
  assert.deepEqual(more, [])
  const allowed = { tokenReviewBinding: 'portolan-token-review' }
  assert.deepEqual(reviewProblems(gateway('a', 'x', reviewed), allowed), [])
  assert.deepEqual(reviewProblems(gateway('a', 'x'), { tokenReviewBinding: '' }), [])
})
