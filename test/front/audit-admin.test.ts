/** Refusals at the admin port and between replicas have audit lines, like refusals of agents. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANONYMOUS } from '../../core/mcp/identity.ts'
import type { RouterOptions } from '../../router/router.ts'
import { initialize, send } from './access-router.ts'
import { audited } from './audit-router.ts'

const AUDIENCE = { status: 401, reason: 'OtherAudience', message: 'No.' } as const
const authenticate: NonNullable<RouterOptions['admin']>['authenticate'] = async shown =>
  shown === 'Bearer pod' ? Object.freeze({ ...ANONYMOUS, kind: 'serviceAccount', id: 'pod' }) : AUDIENCE
const place = { host: '127.0.0.1', port: 0, pod: 'tools-gateway-0', gateway: 'tools', missing: () => [] }

test('if a pod is refused the catalog or a server at the admin port, an audit line says why', async t => {
  const { router, lines } = await audited(t, {}, {}, undefined, { admin: { ...place, authenticate } })
  const admin = `http://127.0.0.1:${router.adminAddress?.port}`
  const headers = { authorization: 'Bearer other' }
  const version = 'a'.repeat(8)
  for (const path of ['/catalog', `/catalog/servers/${version}`])
    assert.equal((await fetch(`${admin}${path}`, { headers })).status, 401, path)
  assert.equal(
    (await send(admin, initialize, { token: 'other', path: '/servers/vermilion/mcp' })).status,
    401,
  )
  // The token is good, but the gateway admits no ServiceAccounts.
  assert.equal((await fetch(`${admin}/catalog`, { headers: { authorization: 'Bearer pod' } })).status, 403)
  const found = await lines()
  assert.deepEqual(
    found.map(({ event, decision, reason, address, replica }) =>
      [event, decision, reason, address, replica].join(' '),
    ),
    [
      ...Array(3).fill('login unauthenticated OtherAudience 127.0.0.1 tools-gateway-0'),
      'login denied OtherNamespace 127.0.0.1 tools-gateway-0',
    ],
  )
})

test('with onOverflow Refuse, requests at the admin port are refused too while no audit line can be written', async t => {
  const access = { auth: undefined }
  const admin = { ...place, authenticate }
  const { router, sink, origin } = await audited(t, { onOverflow: 'Refuse' }, access, undefined, { admin })
  sink.block()
  const big = { method: 'tools/call', params: { name: `x${'y'.repeat(100)}`, arguments: {} } }
  for (;;) if ((await send(origin, big)).status === 503) break
  const path = '/servers/vermilion/mcp'
  const at = `http://127.0.0.1:${router.adminAddress?.port}`
  assert.equal((await send(at, initialize, { path, token: 'pod' })).status, 503)
  sink.unblock()
})

test('a request with a wrongly signed credential of a replica has an audit line', async t => {
  const { origin, lines, router } = await audited(t, {}, {}, undefined, { admin: place })
  const authorization = `Portolan-Replica ${Buffer.from('token:red').toString('base64url')}.zzzzzzzz.${'A'.repeat(43)}`
  assert.equal((await send(origin, initialize, { headers: { authorization } })).status, 400)
  const quotas = `http://127.0.0.1:${router.adminAddress?.port}/quotas`
  assert.equal((await fetch(quotas, { method: 'POST', headers: { authorization }, body: '{}' })).status, 400)
  const found = await lines()
  assert.deepEqual(
    found.map(({ event, decision, reason }) => [event, decision, reason]),
    Array(2).fill(['login', 'unauthenticated', 'ReplicaSignature']),
  )
})
