/** Logins in the Secrets of a cluster: which value is used, what waits for the operator, and that logins are never mixed up. */
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
  const waiting = (store: SealedLogins) => store.waiting(() => true)
  /** Writes the waiting logins into Secrets, as the operator does. */
  const write = (store: SealedLogins) => {
    for (const { server, id, value } of waiting(store)) {
      const name = loginsName(server, id)
      secrets.set(name, { ...secrets.get(name), [id]: value })
    }
  }
  const tokenAt = async (store: SealedLogins, user: User) =>
    (await store.read('linear', URL, user))?.tokens.access_token
  return { clock, secrets, replica, waiting, write, tokenAt }
}

test('a login can be used at once at the replica that made it, and at others once the operator has written it', async () => {
  const { replica, waiting, write, tokenAt } = start()
  const [one, other] = [replica(), replica()]
  await one.write(loginOf(ADA), ADA)
  assert.deepEqual(
    [await tokenAt(one, ADA), await tokenAt(other, ADA)],
    [`token of ${ADA.subject}`, undefined],
  )
  assert.equal(waiting(one).length, 1)
  write(one)
  assert.deepEqual([waiting(one), await tokenAt(other, ADA)], [[], `token of ${ADA.subject}`])
  assert.equal(await tokenAt(other, BEN), undefined)
})

test('the value that was written last is used, even if clocks differ, and a deleted login does not come back', async () => {
  const { clock, replica, waiting, write, tokenAt } = start()
  const [one, other] = [replica(), replica()]
  await one.write(loginOf(ADA, 'first'), ADA)
  write(one)
  clock.setBack(60_000)
  await other.write(loginOf(ADA, 'second'), ADA)
  assert.equal(await tokenAt(other, ADA), 'second')
  write(other)
  assert.equal(await tokenAt(one, ADA), 'second')
  const { id = '' } = one.list('linear')[0] ?? {}
  assert.ok(one.deleteById('linear', id))
  write(one)
  assert.deepEqual(
    [await tokenAt(one, ADA), await tokenAt(other, ADA), waiting(other)],
    [undefined, undefined, []],
  )
})

test('a login that one router deletes because it failed is kept if another router has renewed it meanwhile', async () => {
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

test('a value whose time was changed in the Secret is not accepted', async () => {
  const { clock, secrets, replica, waiting, tokenAt } = start()
  const store = replica()
  await store.write(loginOf(ADA), ADA)
  const [{ id, value }] = waiting(store) as [LoginRecord]
  clock.advance(1_000)
  secrets.set(loginsName('linear', id), { [id]: value.replace(/^\d+/, '999999999999999') })
  assert.equal(await tokenAt(replica(), ADA), undefined)
})

test('a login is found only for its user, server and URL, even if values in Secrets are swapped', async () => {
  const { secrets, replica, waiting, tokenAt } = start()
  const store = replica()
  await store.write(loginOf(ADA), ADA)
  await store.write(loginOf(BEN), BEN)
  const [ada, ben] = waiting(store)
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
  const text = JSON.stringify(waiting(store))
  for (const shown of ['token', 'ada', 'ben', 'login.example.com']) assert.ok(!text.includes(shown))
})

test('the number of unwritten logins is limited per server, but a login that replaces another is always kept', async () => {
  const { clock, secrets, replica, waiting, write, tokenAt } = start()
  const store = replica()
  await store.write(loginOf(ADA), ADA)
  write(store)
  assert.deepEqual(waiting(store), [])
  const users = Array.from({ length: 257 }, (_, at) => userNamed(`https://login.example.com#${at}`) as User)
  for (const user of users.slice(0, 256)) await store.write(loginOf(user), user)
  await assert.rejects(store.write(loginOf(users[256] as User), users[256] as User), { code: 'unavailable' })
  await store.write({ ...loginOf(BEN), name: 'other' }, BEN)
  clock.advance(1)
  await store.write(loginOf(ADA, 'renewed'), ADA)
  assert.equal(await tokenAt(store, ADA), 'renewed')
  // There are 258 in all, more than are given at once: the second time begins with the rest.
  assert.equal(new Set([...waiting(store), ...waiting(store)].map(({ id }) => id)).size, 258)
  assert.equal(waiting(store).length, 256)
  secrets.clear()
  assert.deepEqual(
    store.waiting(() => false),
    [],
  )
})
