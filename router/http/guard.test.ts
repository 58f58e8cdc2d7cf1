/** Where any Host is ours, as in a cluster, a page may ask the host that it came from and no other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGuard } from './guard.ts'

test('with * any host may be asked, and a page only its own', () => {
  const guard = createGuard('0.0.0.0', ['*', 'ui.example'])
  const host = 'tools-gateway.default.svc:8080'
  assert.equal(guard.refusal({ host }), undefined)
  assert.equal(guard.refusal({ host: '10.88.0.7:8080' }), undefined)
  assert.equal(guard.refusal({ host, origin: 'http://tools-gateway.default.svc' }), undefined)
  assert.equal(guard.refusal({ host, origin: 'https://ui.example' }), undefined)
  for (const origin of ['http://evil.example', 'http://10.88.0.7', 'null', '*', 'http://*'])
    assert.match(guard.refusal({ host, origin }) ?? '', /is not allowed/, origin)
  assert.match(guard.refusal({ host: 'a b' }) ?? '', /is not allowed/)
  assert.match(guard.refusal({}) ?? '', /is not allowed/)
})
