/** The property of search-views.test.ts for many more views. */
import { test } from 'node:test'
import { assertSameAnswers } from './same-answers.ts'

const SEED = 20_261_124

test('hundreds of views answer as gateways of their parts alone do', t =>
  assertSameAnswers(t, { meaning: false, views: 200, questions: 60, seed: SEED }))

test('dozens of views answer so by meaning too', t =>
  assertSameAnswers(t, { meaning: true, views: 60, questions: 60, seed: SEED }))
