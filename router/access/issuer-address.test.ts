/** At which addresses the metadata of an issuer may name its keys. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mayHaveKeysOf } from './issuer-address.ts'

const ISSUER = 'https://login.example.com/tenant'
const LOOPBACK = [
  'localhost',
  'LOCALHOST',
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f.0.0.1',
  '127.255.255.254',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
]

test('an issuer elsewhere may not name keys on loopback, however the address is written', () => {
  for (const host of LOOPBACK)
    for (const url of [`https://${host}/keys`, `https://${host}:8443/keys`, `http://${host}/keys`])
      assert.equal(mayHaveKeysOf(ISSUER, url), false, url)
})

test('an issuer on loopback may name keys there; https keys may be anywhere else, http keys only at the issuer', () => {
  for (const host of LOOPBACK)
    assert.equal(mayHaveKeysOf('http://127.0.0.1:9000', `https://${host}/keys`), true, host)
  assert.equal(mayHaveKeysOf('http://localhost:9000', 'http://localhost:9000/keys'), true)
  assert.equal(mayHaveKeysOf('http://localhost:9000', 'http://localhost:9001/keys'), false)
  assert.equal(mayHaveKeysOf('http://dex.auth.svc', 'http://dex.auth.svc/keys'), true)
  for (const url of [
    'https://keys.example.net/keys',
    'https://10.0.0.7/keys',
    'https://login.example.com/keys',
  ])
    assert.equal(mayHaveKeysOf(ISSUER, url), true, url)
  for (const url of ['http://login.example.com/keys', 'file:///etc/passwd', 'keys', ''])
    assert.equal(mayHaveKeysOf(ISSUER, url), false, url)
})
