/** Which of two values of a login counts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeletedLogin, loginsName, newerLogin } from './login-records.ts'

test('the newest value of a login counts, and a deleted one is a value too', () => {
  assert.equal(newerLogin('5.a', '6.'), '6.')
  assert.equal(newerLogin('6.', '5.a'), '6.')
  assert.equal(newerLogin('5.a', '5.b'), '5.a')
  assert.equal(newerLogin(undefined, '5.a'), '5.a')
  assert.equal(newerLogin('10.a', '9.b'), '10.a')
  assert.deepEqual([isDeletedLogin('6.'), isDeletedLogin('5.a')], [true, false])
})

test('logins of a server are spread over sixteen Secrets', () => {
  assert.deepEqual(
    ['0', '9', 'f'].map(digit => loginsName('linear', digit.repeat(64))),
    ['linear-logins-0', 'linear-logins-9', 'linear-logins-15'],
  )
})
