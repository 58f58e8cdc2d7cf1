/** A router that is sent 10,000 broken requests. */
import { test } from 'node:test'
import { fuzz } from './fuzz.ts'

test('10,000 broken bodies, headers and requests are answered or refused, and leave nothing behind', t =>
  fuzz(t, 10_000))
