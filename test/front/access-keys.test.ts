/** Keys of an issuer that come too late, from another host, or from an address that no issuer may have: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import { type Answer, failing, HOUR, healthy, keyServer, MINUTE } from './access-key-server.ts'

const TIMEOUT_MS = 5_000
const silent: Answer = () => {}
const trickling: Answer = response => void response.writeHead(200).write('{"keys":[')

async function untilAsked(asked: readonly string[], count: number): Promise<void> {
  await until(() => asked.length >= count)
}

for (const [what, slow] of [
  ['never come', silent],
  ['come in pieces', trickling],
] as const)
  test(`the router waits five seconds for keys that ${what}, and then refuses tokens until it gets them`, async t => {
    const { sign, statusOf, clock, asked, answerWith } = await keyServer(t, slow)
    // The first fetch is made before a token needs the keys.
    await untilAsked(asked, 1)
    clock.advance(TIMEOUT_MS)
    const waiting = statusOf(await sign())
    await untilAsked(asked, 2)
    clock.advance(TIMEOUT_MS)
    assert.equal(await waiting, 503)
    answerWith(healthy)
    assert.equal(await statusOf(await sign()), 200)
  })

test('while a fetch of keys hangs, tokens with known keys are admitted; others wait five seconds at most', async t => {
  const { sign, statusOf, clock, asked, answerWith } = await keyServer(t)
  assert.equal(await statusOf(await sign()), 200)
  answerWith(silent)
  clock.advance(HOUR)
  const unknown = statusOf(await sign({}, 'two'))
  await untilAsked(asked, 2)
  assert.equal(await statusOf(await sign({ sub: 'new' })), 200)
  clock.advance(TIMEOUT_MS)
  assert.equal(await unknown, 401)
  assert.equal(asked.length, 2)
})

test('no redirect to another host is followed, neither for keys nor for metadata', async t => {
  const hits: string[] = []
  let keysOfIssuer = ''
  const other = createServer((request, response) => {
    hits.push(request.url ?? '')
    response.end(keysOfIssuer)
  })
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}/keys`
  for (const keysFrom of [undefined, { discovery: true } as const]) {
    const { sign, statusOf, clock, answerWith, asked } = await keyServer(
      t,
      failing,
      keysFrom ? { keysFrom } : {},
    )
    for (const status of [301, 302, 303, 307, 308]) {
      answerWith((response, keys) => {
        keysOfIssuer = keys
        response.writeHead(status, { location }).end(keys)
      })
      clock.advance(TIMEOUT_MS)
      const before = asked.length
      assert.equal(await statusOf(await sign({ jti: `${status}` })), 503)
      assert.ok(asked.length > before)
    }
  }
  assert.deepEqual(hits, [])
})

test('keys are never requested from a link-local or unspecified address, however it is written', async t => {
  const hosts = [
    '169.254.169.254',
    '2852039166',
    '0xa9.0376.43518',
    '[::ffff:169.254.169.254]',
    '[::ffff:a9fe:a9fe]',
    '[::169.254.169.254]',
    '[64:ff9b::169.254.169.254]',
    '[fe80::1]',
    '[febf::1]',
    '[fd00:ec2::254]',
    '0.0.0.0',
    '0',
    '[::]',
    '[::ffff:0.0.0.0]',
  ]
  const admin = { host: '127.0.0.1', port: 0, pod: 'one', gateway: 'tools', missing: () => [] }
  for (const host of hosts) {
    const keysFrom = { uri: `http://${host}:9/keys` }
    const { sign, statusOf, router } = await keyServer(t, healthy, { keysFrom }, { admin })
    assert.equal(await statusOf(await sign()), 503, host)
    const status = await fetch(`http://127.0.0.1:${router.adminAddress?.port}/status`)
    assert.match(await status.text(), /has the address [^"]*, which no issuer may have/, host)
  }
})

test('after the clock is set back by a day, keys are fetched again as before', async t => {
  const { sign, statusOf, clock, asked } = await keyServer(t)
  const known = await sign()
  assert.equal(await statusOf(known), 200)
  clock.setBack(24 * HOUR)
  assert.equal(await statusOf(await sign()), 200)
  clock.advance(6 * MINUTE)
  assert.equal(await statusOf(await sign()), 200)
  await untilAsked(asked, 2)
  assert.equal(await statusOf(await sign({}, 'unknown')), 401)
  clock.advance(TIMEOUT_MS)
  assert.equal(await statusOf(await sign({}, 'unknown')), 401)
  assert.equal(asked.length, 3)
})

test('a token whose key was withdrawn is refused after five minutes, even if the clock is set back meanwhile', async t => {
  const { sign, statusOf, clock, answerWith } = await keyServer(t)
  const token = await sign({ iat: clock.now() / 1_000 - 12 * 3_600 })
  assert.equal(await statusOf(token), 200)
  answerWith(response => response.end('{"keys":[]}'))
  clock.setBack(HOUR)
  clock.advance(TIMEOUT_MS)
  await statusOf(await sign({}, 'unknown'))
  clock.advance(6 * MINUTE)
  assert.equal(await statusOf(token), 401)
})
