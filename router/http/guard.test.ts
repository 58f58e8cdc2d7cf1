/** Which Host and Origin headers are accepted, and which response headers pages may read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGuard } from './guard.ts'

test('with * any Host is accepted; a page must come from the same host over https, an allowed host or localhost', () => {
  const guard = createGuard('0.0.0.0', ['*', 'ui.example'])
  const host = 'tools-gateway.default.svc:8080'
  assert.equal(guard.refusal({ host }), undefined)
  assert.equal(guard.refusal({ host: '10.88.0.7:8080' }), undefined)
  assert.equal(guard.refusal({ host, origin: 'https://tools-gateway.default.svc' }), undefined)
  assert.equal(guard.refusal({ host, origin: 'https://ui.example' }), undefined)
  assert.equal(guard.refusal({ host, origin: 'http://ui.example' }), undefined)
  assert.equal(guard.refusal({ host, origin: 'http://localhost:6274' }), undefined)
  for (const origin of ['http://evil.example', 'http://10.88.0.7', 'null', '*', 'http://*'])
    assert.match(guard.refusal({ host, origin }) ?? '', /is not allowed/, origin)
  const rebound = { host: 'evil.example:8080', origin: 'http://evil.example:8080' }
  assert.match(guard.refusal(rebound) ?? '', /is not allowed/)
  assert.match(guard.refusal({ host, origin: `http://${host}` }) ?? '', /is not allowed/)
  assert.match(guard.refusal({ host: 'a b' }) ?? '', /is not allowed/)
  assert.match(guard.refusal({}) ?? '', /is not allowed/)
})

test('allowed hosts are compared in the form that browsers use, whatever their case, form or port', () => {
  const guard = createGuard('::1', ['FD00:0:0::5', 'Tools.Example', 'ui.example:8443', 'münchen.example'])
  for (const host of ['[fd00::5]:8080', 'tools.example', 'UI.example', 'xn--mnchen-3ya.example', '[::1]']) {
    assert.equal(guard.refusal({ host }), undefined, host)
    assert.equal(guard.refusal({ host, origin: `http://${host}` }), undefined, host)
  }
  for (const host of ['[fd00::6]', 'evil.example', '*'])
    assert.match(guard.refusal({ host }) ?? '', /not allowed/)
})

test('pages may read the headers of the session, the protocol version, Retry-After and WWW-Authenticate', () => {
  const cors = createGuard('localhost', []).corsHeaders({ origin: 'http://localhost:1' })
  const exposed = cors['access-control-expose-headers']?.split(', ')
  assert.deepEqual(exposed, ['mcp-session-id', 'mcp-protocol-version', 'retry-after', 'www-authenticate'])
})
