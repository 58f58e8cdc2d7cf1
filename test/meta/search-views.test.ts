/** A search under a view is the search of a gateway that has nothing but what the view grants. */
import { test } from 'node:test'
import { assertSameAnswers } from './same-answers.ts'

const SEED = 20_261_123

test('whoever searches under rules gets what a gateway of the part alone answers, byte for byte', t =>
  assertSameAnswers(t, { meaning: false, views: 20, questions: 60, seed: SEED }))

test('the same by meaning too, down to what is sent to be encoded', t =>
  assertSameAnswers(t, { meaning: true, views: 8, questions: 50, seed: SEED }))
