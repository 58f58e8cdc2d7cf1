/** Logins in the Secrets of a cluster: which value counts, what the operator is told, and that no login is another's. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type LoginRecord, loginsName } from '../../core/catalog/login-records.ts'
import { type User, userNamed } from '../../core/mcp/user.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import type { KeptLogin } from './kept-login.ts'
import { createSeal } from './seal.ts'
import { SealedLogins } from './sealed-logins.ts'

const URL = 'https://mcp.example.com/mcp'
const [ADA, BEN] = ['ada', 'ben'].map(name => userNamed(`https://login.example.com#${name}`) as User) as [
  User,
  User,
]

function loginOf({ subject }: User, token = `token of ${subject}`): KeptLogin {
  return {
    name: 'linear',
    url: URL,
    subject,
    sinceMs: 1,
    renewedMs: 1,
    server: { issuer: 'https://login.example.com', metadata: {} as never },
    client: { client_id: 'portolan' },
    tokens: { access_token: token, token_type: 'bearer' },
  }
}

function start() {
  const clock = createManualClock()
  const key = randomBytes(32)
  const secrets = new Map<string, Record<string, string>>()
  const replica = () =>
    new SealedLogins({ key, seal: createSeal(key), clock, secret: name => secrets.get(name) })
  const told = (store: SealedLogins) => store.waiting(() => true)
  /** As the operator does. */
  const write = (store: SealedLogins) => {
    for (const { server, id, value } of told(store)) {
      const name = loginsName(server, id)
      secrets.set(name, { ...secrets.get(name), [id]: value })
    }
  }
  const tokenAt = async (store: SealedLogins, user: User) =>
    (await store.read('linear', URL, user))?.tokens.access_token
  return { clock, secrets, replica, told, write, tokenAt }
}

test('a login counts at once where it was made, and at the others once the operator has written it', async () => {
  const { replica, told, write, tokenAt } = start()
  const [one, other] = [replica(), replica()]
  await one.write(loginOf(ADA), ADA)
  assert.deepEqual(
    [await tokenAt(one, ADA), await tokenAt(other, ADA)],
    [`token of ${ADA.subject}`, undefined],
  )
  assert.equal(told(one).length, 1)
  write(one)
  assert.deepEqual([told(one), await tokenAt(other, ADA)], [[], `token of ${ADA.subject}`])
  assert.equal(await tokenAt(other, BEN), undefined)
})

test('the last value counts, whatever the clocks of machines say, and a deleted login does not come back', async () => {
  const { clock, replica, told, write, tokenAt } = start()
  const [one, other] = [replica(), replica()]
  await one.write(loginOf(ADA, 'first'), ADA)
  write(one)
  clock.advance(-60_000)
  await other.write(loginOf(ADA, 'second'), ADA)
  assert.equal(await tokenAt(other, ADA), 'second')
  write(other)
  assert.equal(await tokenAt(one, ADA), 'second')
  const { id = '' } = one.list('linear')[0] ?? {}
  assert.ok(one.deleteById('linear', id))
  write(one)
  assert.deepEqual(
    [await tokenAt(one, ADA), await tokenAt(other, ADA), told(other)],
    [undefined, undefined, []],
  )
})

test('what one router finds of no use is not deleted where another has renewed it meanwhile', async () => {
  const { clock, replica, write, tokenAt } = start()
  const [one, other] = [replica(), replica()]
  await one.write(loginOf(ADA, 'first'), ADA)
  write(one)
  clock.advance(60_000)
  await one.write(loginOf(ADA, 'renewed'), ADA)
  await other.delete('linear', URL, ADA)
  assert.equal(await tokenAt(other, ADA), undefined)
  write(one)
  assert.deepEqual([await tokenAt(one, ADA), await tokenAt(other, ADA)], ['renewed', 'renewed'])
})

test('an old value counts no more, whatever time is put before it', async () => {
  const { clock, secrets, replica, told, tokenAt } = start()
  const store = replica()
  await store.write(loginOf(ADA), ADA)
  const [{ id, value }] = told(store) as [LoginRecord]
  clock.advance(1_000)
  secrets.set(loginsName('linear', id), { [id]: value.replace(/^\d+/, '999999999999999') })
  assert.equal(await tokenAt(replica(), ADA), undefined)
})

test('no login of another user, server or address is given, even if Secrets are mixed up', async () => {
  const { secrets, replica, told, tokenAt } = start()
  const store = replica()
  await store.write(loginOf(ADA), ADA)
  await store.write(loginOf(BEN), BEN)
  const [ada, ben] = told(store)
  assert.ok(ada && ben)
  const swapped = replica()
  secrets.set(loginsName('linear', ada.id), { [ada.id]: ben.value })
  secrets.set(loginsName('linear', ben.id), {
    ...secrets.get(loginsName('linear', ben.id)),
    [ben.id]: ada.value,
  })
  assert.deepEqual([await tokenAt(swapped, ADA), await tokenAt(swapped, BEN)], [undefined, undefined])
  assert.equal(await store.read('linear', 'https://other.example.com/mcp', ADA), undefined)
  assert.equal(await store.read('other', URL, ADA), undefined)
  const text = JSON.stringify(told(store))
  for (const shown of ['token', 'ada', 'ben', 'login.example.com']) assert.ok(!text.includes(shown))
})

test('what the operator does not write is bounded for each server; what replaces another is kept in any case', async () => {
  const { clock, secrets, replica, told, write, tokenAt } = start()
  const store = replica()
  await store.write(loginOf(ADA), ADA)
  write(store)
  assert.deepEqual(told(store), [])
  const users = Array.from({ length: 257 }, (_, at) => userNamed(`https://login.example.com#${at}`) as User)
  for (const user of users.slice(0, 256)) await store.write(loginOf(user), user)
  await assert.rejects(store.write(loginOf(users[256] as User), users[256] as User), { code: 'unavailable' })
  await store.write({ ...loginOf(BEN), name: 'other' }, BEN)
  clock.advance(1)
  await store.write(loginOf(ADA, 'renewed'), ADA)
  assert.equal(await tokenAt(store, ADA), 'renewed')
  // 258 in all: so many at once that each has its turn.
  assert.equal(new Set([...told(store), ...told(store)].map(({ id }) => id)).size, 258)
  assert.equal(told(store).length, 256)
  secrets.clear()
  assert.deepEqual(
    store.waiting(() => false),
    [],
  )
})
