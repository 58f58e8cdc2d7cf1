/** A router that is sent 500 broken requests; the slow test sends 10,000. */
import { test } from 'node:test'
import { fuzz } from './fuzz.ts'

test('500 broken bodies, headers and requests are answered or refused, and leave nothing behind', t =>
  fuzz(t, 500))
