/** What makes a certificate unusable, and whom callers trust while one replaces another. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSelfSigned, LIFETIME_MS } from '../runtime/self-signed.ts'
import { certificateProblem, renewalOf, withFormer } from './certificate.ts'

const NOW = Date.UTC(2026, 0, 1)
const HOST = 'mcp-x.team.svc'

test('the problem of an unusable certificate is named, and a usable one has none', async () => {
  const { cert, key } = await createSelfSigned(HOST, NOW)
  const other = await createSelfSigned(HOST, NOW)
  const flawOf = (data: Record<string, string>, now = NOW) =>
    certificateProblem(data, 'mcp-x.tls', HOST, now)?.message.match(/used: (.*); correct/)?.[1]
  assert.equal(flawOf({ 'tls.crt': cert, 'tls.key': key }), undefined)
  assert.equal(flawOf({ 'tls.crt': cert }), 'it has no key "tls.key"')
  assert.equal(flawOf({}), 'it has no key "tls.crt"')
  assert.equal(flawOf({ 'tls.crt': cert, 'tls.key': other.key }), 'tls.key belongs to another certificate')
  const elsewhere = await createSelfSigned('mcp-y.team.svc', NOW)
  assert.equal(flawOf({ 'tls.crt': elsewhere.cert, 'tls.key': elsewhere.key }), `it is not for ${HOST}`)
  const late = NOW + LIFETIME_MS
  assert.equal(flawOf({ 'tls.crt': cert, 'tls.key': key }, late), 'it expired at 2026-04-01T00:00:00.000Z')
  assert.match(flawOf({ 'tls.crt': 'x', 'tls.key': key }) ?? '', /^it cannot be read/)
  assert.equal(flawOf({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': 'x' }), 'ca.crt holds no certificate')
})

test('a certificate is renewed after two thirds of its lifetime', async () => {
  const { cert } = await createSelfSigned(HOST, NOW)
  assert.equal(new Date(renewalOf({ 'tls.crt': cert })).toISOString().slice(0, 10), '2026-03-01')
})

test('the current certificate is the first of the trusted ones, none is repeated, and there are at most 16', async () => {
  const made = await Promise.all(Array.from({ length: 20 }, () => createSelfSigned(HOST, NOW)))
  const [first = '', second = ''] = made.map(({ cert }) => cert)
  assert.equal(withFormer(second, first), second + first)
  assert.equal(withFormer(second, second + first), second + first)
  assert.equal(withFormer(second, undefined), second)
  assert.equal(withFormer(first, made.map(({ cert }) => cert).join('')).match(/BEGIN/g)?.length, 16)
})
