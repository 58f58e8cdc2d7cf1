/** A server with a certificate of a company's own authority is reached once that authority is trusted. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { request } from 'undici'
import { makeAuthority } from '../test/support/authority.ts'
import { areCertificates, trustCertificates } from './trusted-certificates.ts'

test('an authority is trusted from the moment it is given', async t => {
  const { key, certificate } = makeAuthority('localhost')
  const server = createServer({ key, cert: certificate }, (_, response) => response.end('hello'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `https://localhost:${(server.address() as AddressInfo).port}`
  await assert.rejects(request(url), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  trustCertificates(`# ours\n${certificate}`)
  const { body } = await request(url)
  assert.equal(await body.text(), 'hello')
})

test('only certificates of authorities are taken', () => {
  const { key, certificate } = makeAuthority('localhost')
  assert.equal(areCertificates(`${certificate}\n# another\n${certificate}`), true)
  for (const wrong of ['', 'ca.pem', key, certificate.slice(0, 300), certificate.replace('MII', 'XXX')])
    assert.equal(areCertificates(wrong), false)
})
