/** The property of search-views.test.ts for many more views. */
import { test } from 'node:test'
import { assertSameAnswers } from './same-answers.ts'

const SEED = 20_261_124

test('200 random views give the same bytes as gateways with only their part', t =>
  assertSameAnswers(t, { meaning: false, views: 200, questions: 60, seed: SEED }))

test('60 random views give the same bytes in searches by meaning too', t =>
  assertSameAnswers(t, { meaning: true, views: 60, questions: 60, seed: SEED }))
