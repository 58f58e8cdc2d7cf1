/** Durations and quantities of bytes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseBytes, parseDuration } from './quantity.ts'

test('durations are read with every unit, single and combined', () => {
  const cases = {
    '250ms': 250,
    '60s': 60_000,
    '3m': 180_000,
    '1h30m': 5_400_000,
    '1.5s': 1_500,
    '1m0.5s': 60_500,
  }
  for (const [text, ms] of Object.entries(cases)) assert.equal(parseDuration(text), ms, text)
})

test('quantities of bytes are read with decimal and binary units', () => {
  const cases = { '512': 512, '1k': 1_000, '1Ki': 1_024, '1Mi': 1_048_576, '1.5Mi': 1_572_864, '2G': 2e9 }
  for (const [text, bytes] of Object.entries(cases)) assert.equal(parseBytes(text), bytes, text)
})

test('any other text is NaN', () => {
  for (const text of ['', '60', 's', '-1s', '1 s', '1d', '1e3s'])
    assert.equal(parseDuration(text), Number.NaN, text)
  for (const text of ['', '1KB', '-1', '1 Mi', '1mi', '.5Mi'])
    assert.equal(parseBytes(text), Number.NaN, text)
})
