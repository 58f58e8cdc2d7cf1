/** What several routers of a cluster answer becomes one list. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../core/errors.ts'
import type { PodAnswer } from '../core/kube/pod-request.ts'
import { deleteInCluster, loginsInCluster } from './logins-in-cluster.ts'
import { joined, type RouterPlace, reportsOf } from './routers-in-cluster.ts'

const AWAY = new Fault('upstream_unreachable', 'Pod web-2 does not answer: socket hang up')
const LOGINS = JSON.stringify([{ id: 'a', server: 'linear', subject: 'ada' }])
const answers: Record<string, PodAnswer | Fault> = {
  'web-1': { status: 200, text: '["ada"]' },
  'web-2': AWAY,
  'web-3': { status: 404, text: '' },
  'web-4': { status: 503, text: '' },
  'web-5': { status: 200, text: '["bob"]' },
}

async function ask(pod: string): Promise<PodAnswer> {
  const answer = answers[pod]
  if (!answer || answer instanceof Fault) throw answer
  return answer
}

test('the lists of the routers that answer are joined, and it is said which others do not, and why', async () => {
  assert.deepEqual(joined(await reportsOf(Object.keys(answers), ask), 'logins'), {
    items: ['ada', 'bob'],
    missing: [
      'the router web-2 does not show logins: Pod web-2 does not answer: socket hang up',
      'the router web-3 does not show logins: it has no such page, as in earlier versions',
      'the router web-4 does not show logins: it answers with status 503',
    ],
  })
})

test('if no router has a list, the error names each reason once', async () => {
  const reports = await reportsOf(['web-3', 'web-4', 'web-4'], ask)
  assert.throws(() => joined(reports, 'logins'), {
    message:
      'no router shows logins: it has no such page, as in earlier versions; it answers with status 503',
  })
})

/** Two routers: `web-1` has a login, `web-2` gives this answer to requests of this method. */
function placeWhere(method: 'GET' | 'DELETE' | 'none', failed: PodAnswer | Fault): RouterPlace {
  const ask: RouterPlace['ask'] = async asked => [
    { pod: 'web-1', answer: asked === 'GET' ? { status: 200, text: LOGINS } : { status: 204, text: '' } },
    {
      pod: 'web-2',
      answer: asked === method ? failed : { status: asked === 'GET' ? 200 : 404, text: '[]' },
    },
  ]
  const warned: string[] = []
  return { ask, warned, warn: line => void warned.push(line) }
}

test('logins are deleted at all routers; if one did not answer, they may remain, which is an error', async () => {
  const remain = { message: /^not all routers answered, .* \(deleted: 1\)$/ }
  for (const method of ['GET', 'DELETE'] as const) {
    const place = placeWhere(method, AWAY)
    const logins = await loginsInCluster(place)
    assert.equal(logins.length, 1)
    await assert.rejects(deleteInCluster(place, logins), remain, method)
  }
  const place = placeWhere('none', AWAY)
  await deleteInCluster(place, await loginsInCluster(place))
  assert.deepEqual(place.warned, [])
})
