/** Sealed texts open with the key and for the purpose that they were closed with, and for nothing else. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createSeal } from './seal.ts'

const key = randomBytes(32)
const seal = createSeal(key)

test('another router with the same key opens what one has closed', () => {
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
