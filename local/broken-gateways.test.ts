/** Files that may have a broken McpGateway in them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cpuMs } from '../test/support/cpu-time.ts'
import { brokenGateways } from './broken-gateways.ts'

const FOUND = { broken: [{ kind: undefined, line: 1 }], problems: [] }

test('a field of a gateway is found at any indentation, after any number of blank lines, in linear time', () => {
  const blank = '\n'.repeat(100_000)
  const began = cpuMs()
  assert.equal(brokenGateways(FOUND, `${blank}\t "access" : []`, 'a.yaml').length, 1)
  assert.equal(brokenGateways(FOUND, blank, 'a.yaml').length, 0)
  assert.ok(cpuMs() - began < 1_500)
})
