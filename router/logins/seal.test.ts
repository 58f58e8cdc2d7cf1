/** A sealed text opens only with the key and for the purpose that it was sealed with. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createSeal } from './seal.ts'

const key = randomBytes(32)
const seal = createSeal(key)

test('a text that one router has sealed is opened by another one with the same key', () => {
  const sealed = seal.close('a token ✓', 'ada')
  assert.ok(!sealed.includes('token'))
  assert.equal(createSeal(key).open(sealed, 'ada'), 'a token ✓')
  assert.notEqual(seal.close('a token ✓', 'ada'), sealed)
})

test('a sealed value cannot be opened for another purpose, with another key, or after a change', () => {
  const sealed = seal.close('a token', 'ada')
  assert.equal(seal.open(sealed, 'ben'), undefined)
  assert.equal(createSeal(randomBytes(32)).open(sealed, 'ada'), undefined)
  for (const at of [0, 20, sealed.length - 1]) {
    const changed = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`
    assert.equal(seal.open(changed, 'ada'), undefined)
  }
  for (const other of ['', 'A', sealed.slice(0, 30)]) assert.equal(seal.open(other, 'ada'), undefined)
})
