/** Users are distinguished by their whole issuer and subject. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { ANONYMOUS, type Identity } from './identity.ts'
import { LOCAL_USER, userNamed, userOf } from './user.ts'

const ada: Identity = { ...ANONYMOUS, id: 'user:okta:ada', kind: 'user', issuer: 'okta', subject: 'ada' }
const URL_OF_OKTA = 'https://okta.example.com'

test('a user is identified by the URL of its issuer and by its subject', () => {
  const user = userOf(ada, [{ name: 'okta', issuer: URL_OF_OKTA }])
  assert.equal(user?.subject, `${URL_OF_OKTA}#ada`)
  assert.deepEqual(userNamed(`${URL_OF_OKTA}#ada`), user)
  assert.notEqual(userOf(ada)?.key, user?.key)
  assert.equal(userOf(ANONYMOUS), undefined)
})

test('the id is the beginning of a hash in base 32', () => {
  const bytes = createHash('sha256').update(`${URL_OF_OKTA}\0ada`).digest()
  const bits = [...bytes].map(byte => byte.toString(2).padStart(8, '0')).join('')
  const digits = bits.slice(0, 50).match(/.{5}/g) ?? []
  const id = digits.map(digit => 'abcdefghijklmnopqrstuvwxyz234567'[Number.parseInt(digit, 2)]).join('')
  assert.equal(userNamed(`${URL_OF_OKTA}#ada`)?.id, id)
  assert.match(LOCAL_USER.id, /^[a-z2-7]{10}$/)
})

test('different pairs of issuer and subject are different users, also across kinds of credentials', () => {
  const issuers = ['https://a', 'https://a#b', 'https://a#b#c', 'token', 'serviceaccount', 'local', 'user']
  const subjects = ['c', 'b#c', 'user', 'token', 'a\u0000b', '']
  const people = issuers.flatMap(issuer => subjects.map(subject => ({ ...ada, issuer, subject })))
  const keys = new Set(people.map(person => userOf(person)?.key))
  assert.equal(keys.size, issuers.length * subjects.length)
  for (const text of ['', '#', 'a', '#a', 'a#']) assert.equal(userNamed(text), undefined)
  const account = {
    ...ada,
    kind: 'serviceAccount',
    issuer: undefined,
    subject: 'system:serviceaccount:a:b',
  } as const
  assert.equal(userOf(account)?.subject, 'serviceaccount#system:serviceaccount:a:b')
})
