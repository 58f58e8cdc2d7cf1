/** Which hits are shown with their schema. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type SchemaNeed, schemaShares } from './schema-shares.ts'

const hit = (relevance: number, tokens: number, weak = false): SchemaNeed => ({ relevance, weak, tokens })
const shares = (hits: SchemaNeed[], room: number, needs = 1) => schemaShares(hits, room, needs, 0)

test('the first three hits have their schemas, and less relevant hits do not', () => {
  const hits = [hit(1, 50), hit(0.9, 50), hit(0.8, 50), hit(0.7, 50), hit(0.7, 50)]
  assert.deepEqual(shares(hits, 1_000), [50, 50, 50, 0, 0])
})

test('hits nearly as relevant have their schemas if these fit in full, up to five in all', () => {
  const ties = Array.from({ length: 8 }, () => hit(1, 50))
  assert.deepEqual(shares(ties, 1_000), [50, 50, 50, 50, 50, 0, 0, 0])
  assert.deepEqual(shares(ties, 199), [50, 50, 50, 0, 0, 0, 0, 0])
})

test('weak hits have none', () => {
  assert.deepEqual(shares([hit(1, 50), hit(0.9, 50, true), hit(0.7, 50)], 1_000), [50, 0, 50])
  assert.deepEqual(shares([hit(0.1, 50, true)], 1_000), [0])
})

test('of the first three hits, those far below the best have theirs only if it fits in full into what the others leave', () => {
  assert.deepEqual(shares([hit(1, 50), hit(0.5, 50), hit(0.3, 50), hit(0.3, 50)], 1_000), [50, 50, 50, 0])
  assert.deepEqual(shares([hit(1, 50), hit(0.5, 60), hit(0.3, 50)], 109), [50, 0, 50])
  assert.deepEqual(shares([hit(1, 90), hit(0.5, 50)], 80), [80, 0])
})

test('schemas that do not fit share the remaining tokens, of which the best gets twice as much', () => {
  assert.deepEqual(shares([hit(1, 900), hit(1, 900), hit(1, 20)], 320), [200, 100, 20])
  assert.deepEqual(shares([hit(1, 20), hit(1, 900), hit(1, 20)], 320), [20, 280, 20])
  assert.deepEqual(shares([hit(1, 20), hit(1, 30)], 0), [0, 0])
})

test('of schemas that do not fit, those of less relevant hits get less', () => {
  const [best = 0, second = 0, third = 0] = shares([hit(1, 900), hit(0.9, 900), hit(0.7, 900)], 300)
  assert.ok(best > 2 * second && second > 2 * third && third > 0, `${best}, ${second}, ${third}`)
  assert.deepEqual(shares([hit(0, 900), hit(0, 900)], 300), [200, 100])
})

test('each of several queries has the schema of its best hit', () => {
  const hits = [hit(1, 10), hit(0.3, 10), hit(0.2, 10), hit(0.2, 10), hit(0.9, 10)]
  assert.deepEqual(shares(hits, 1_000, 4), [10, 10, 10, 10, 0])
})
