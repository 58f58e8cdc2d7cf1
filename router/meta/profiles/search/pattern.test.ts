/** Which regular expressions are accepted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cpuMs } from '../../../../test/support/cpu-time.ts'
import { compilePattern } from './pattern.ts'

function refusalOf(query: string): string | undefined {
  const pattern = compilePattern(query)
  return 'refusal' in pattern ? pattern.refusal : undefined
}

test('usual patterns are accepted, whatever their repetitions', () => {
  for (const query of [
    'create.*issue',
    '^(?:get|list)_.{0,80}s$',
    'a{2,}b{3}',
    String.raw`\{600\}[{]{2}[\]a{900}]`,
    'x{1,100}y{1,100}',
    'literal {brace',
  ])
    assert.equal(refusalOf(query), undefined, query)
})

test('a pattern that would expand too far is refused before it is compiled', t => {
  const nested = (inner: string) => `(?:(?:${inner}){30}){33}`
  const patterns = [
    String.raw`\pL{1,1000}`.repeat(20),
    nested(String.raw`\pL`.repeat(70)),
    nested('()'.repeat(45)),
    nested('[a-c]'.repeat(40)),
    'x{1000,}'.repeat(30),
  ]
  assert.match(refusalOf('x{1,900}') ?? '', /too large once/)
  const startedMs = cpuMs()
  for (const query of patterns) assert.match(refusalOf(query) ?? '', /too large once|too many groups/, query)
  const ms = cpuMs() - startedMs
  t.diagnostic(`${patterns.length} patterns: ${ms.toFixed(1)} ms`)
  assert.ok(ms < 100, `${ms} ms`)
})
