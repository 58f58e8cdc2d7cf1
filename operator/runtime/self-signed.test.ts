/** Self-signed certificates are trusted only by clients that have them, and only for their host. */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Agent, request } from 'undici'
import { createSelfSigned } from './self-signed.ts'

test('a client that has the certificate trusts its host and no other', async t => {
  const made = await createSelfSigned('localhost', Date.now())
  const server = createServer(made, (_, response) => response.end('hello'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const trusting = async (ca: string, host: string) => {
    const dispatcher = new Agent({ connect: { ca } })
    t.after(() => dispatcher.destroy())
    return (await request(`https://${host}:${port}`, { dispatcher })).body.text()
  }
  assert.equal(await trusting(made.cert, 'localhost'), 'hello')
  await assert.rejects(trusting(made.cert, '127.0.0.1'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  const other = await createSelfSigned('localhost', Date.now())
  await assert.rejects(trusting(other.cert, 'localhost'))
})

test('a certificate is valid now, for its lifetime, and is not an authority', async () => {
  const { cert } = await createSelfSigned('mcp-x.team.svc', Date.UTC(2026, 0, 1))
  const parsed = new X509Certificate(cert)
  assert.equal(parsed.ca, false)
  assert.equal(parsed.validFromDate.toISOString(), '2025-12-31T23:55:00.000Z')
  assert.equal(parsed.validToDate.toISOString(), '2026-04-01T00:00:00.000Z')
  assert.equal(parsed.subjectAltName, 'DNS:mcp-x.team.svc')
})
