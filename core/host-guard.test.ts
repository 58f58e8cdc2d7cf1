/** What counts as an address or subnet, and which addresses are refused in whatever way they are written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from './errors.ts'
import { createHostGuard, type HostRules, isAddressRange } from './host-guard.ts'

const refusal = (host: string, address: string) => new Fault('invalid_data', `${host} is ${address}`)
const guardOf = (rules: Partial<HostRules>) => createHostGuard({ loopback: 'none', refusal, ...rules })

const REFUSED = [
  'http://169.254.169.254/latest/meta-data',
  'http://2852039166/',
  'http://0xa9.254.169.254/',
  'http://[fe80::1]/',
  'http://[fd00:ec2::254]/',
  'http://[::ffff:169.254.169.254]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[2002:a9fe:a9fe::1]/',
  'http://[64:ff9b:1::a9fe:a9fe]/',
  'http://[64:ff9b:1:a9fe:a9:fe00::]/',
  'http://100.100.100.200/latest/meta-data',
  'http://[::ffff:100.100.100.200]/',
  'http://[::100.100.100.200]/',
  'http://[64:ff9b::100.100.100.200]/',
  'http://[2002:6464:64c8::1]/',
  'http://168.63.129.16/metadata',
  'http://[::ffff:168.63.129.16]/',
  'http://[::168.63.129.16]/',
  'http://[64:ff9b::168.63.129.16]/',
  'http://[2002:a83f:8110::1]/',
  'http://0.0.0.0/',
  'http://[::]/',
  'http://127.0.0.1:8081/',
  'http://127.1/',
  'http://[::1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://10.96.0.1/',
  'http://192.0.2.77/',
  'http://[::ffff:10.96.0.1]/',
]

test('an address is refused however it is written', () => {
  const guard = guardOf({ refused: ['10.96.0.1', '192.0.2.0/24'] })
  for (const url of REFUSED) assert.throws(() => guard.check(new URL(url)), { code: 'invalid_data' }, url)
  for (const url of [
    'http://10.96.0.2/',
    'https://192.0.3.1/',
    'http://[2001:db8::1]/',
    'http://100.100.100.201/',
    'http://[2002:a9ff::1]/',
    'https://example.com/',
  ])
    guard.check(new URL(url))
})

test('an allowed host may have any address, and loopback only if the host names it', () => {
  guardOf({ allowed: ['127.0.0.1'] }).check(new URL('http://127.0.0.1/'))
  guardOf({ allowed: ['::1'] }).check(new URL('http://[::1]/'))
  assert.throws(() => guardOf({ allowed: ['*'] }).check(new URL('http://127.0.0.1/')))
  guardOf({ loopback: 'named' }).check(new URL('http://127.0.0.1/'))
})

test('only addresses and subnets are parsed, no other text', () => {
  for (const text of ['10.0.0.0/8', '10.0.0.1', '::1', 'fd00::/8', '0.0.0.0/0'])
    assert.ok(isAddressRange(text), text)
  for (const text of ['', 'host', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '::/129', '10.0.0/8'])
    assert.ok(!isAddressRange(text), text)
})
