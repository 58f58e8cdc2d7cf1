/** URLs of gateways and issuers: without TLS only where nobody listens in between. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatewayUrl } from './access.ts'

const SERVICES = ['keys.auth.svc', 'keys.auth.svc.cluster.local', 'keys.auth.svc:8080']

test('a URL without TLS names loopback or a Service of the cluster', () => {
  for (const host of [...SERVICES, 'localhost:8080', '127.0.0.1', '[::1]:80'])
    assert.ok(gatewayUrl.safeParse(`http://${host}/realms/a`).success, host)
})

test('a URL without TLS whose host only looks like a Service is refused', () => {
  const hosts = [
    'evil.com\\.svc',
    'evil.com\\@keys.auth.svc',
    'keys.auth.svc.evil.com',
    'keys.auth.svc.cluster.local.evil.com',
    'keys.auth.svc.cluster.local.',
    'a@keys.auth.svc@evil.com',
    'keys.svc%2eevil.com',
    'localhost.evil.com',
    '.svc',
  ]
  for (const host of hosts) assert.equal(gatewayUrl.safeParse(`http://${host}/x`).success, false, host)
})

test('a URL with TLS may have any host, but no backslash before its path', () => {
  assert.ok(gatewayUrl.safeParse('https://issuer.example.com:8443/realms/a').success)
  assert.equal(gatewayUrl.safeParse('https://evil.com\\.issuer.example.com/').success, false)
})
