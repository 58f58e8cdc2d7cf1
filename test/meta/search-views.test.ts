/** A search under a view answers like that of a gateway that has nothing but what the view grants. */
import { test } from 'node:test'
import { assertSameAnswers } from './same-answers.ts'

const SEED = 20_261_123

test('a search under rules gives the same bytes as a gateway with only that part', t =>
  assertSameAnswers(t, { meaning: false, views: 20, questions: 60, seed: SEED }))

test('a search by meaning under rules gives the same bytes too, and encodes the same texts', t =>
  assertSameAnswers(t, { meaning: true, views: 8, questions: 50, seed: SEED }))
