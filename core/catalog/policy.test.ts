/** Which tools are offered, and how they are described. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cpuMs } from '../../test/support/cpu-time.ts'
import { applyOverride, isAllowed, matches } from './policy.ts'

const policy = (allow: string[], deny: string[] = []) => ({ allow, deny, overrides: {} })

test('a star stands for any characters, everything else for itself', () => {
  for (const [pattern, name] of [
    ['*', ''],
    ['*', 'x'],
    ['delete_*', 'delete_'],
    ['*_file', 'read_file'],
    ['a*b*c', 'a-b-b-c'],
    ['搜*', '搜索'],
    ['a.b', 'a.b'],
  ]) {
    assert.ok(matches(pattern ?? '', name ?? ''), `${pattern} ${name}`)
  }
  for (const [pattern, name] of [
    ['', 'x'],
    ['delete_*', 'Delete_x'],
    ['a', 'ab'],
    ['*b', 'a'],
    ['a.b', 'axb'],
    ['[ab]', 'a'],
    ['?', 'a'],
  ]) {
    assert.ok(!matches(pattern ?? '', name ?? ''), `${pattern} ${name}`)
  }
})

test('a pattern matches the same names as the equivalent regular expression', () => {
  const word = fc.stringMatching(/^[ab*]{0,12}$/)
  fc.assert(
    fc.property(word, fc.stringMatching(/^[ab]{0,12}$/), (pattern, name) =>
      assert.equal(matches(pattern, name), new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name)),
    ),
    { numRuns: 500 },
  )
})

test('a pattern that makes backtracking matchers hang is matched quickly', () => {
  const started = cpuMs()
  assert.equal(matches('*a'.repeat(100), 'a'.repeat(256).concat('b')), false)
  assert.ok(cpuMs() - started < 100)
})

test('deny takes precedence over allow, and an empty list allows nothing', () => {
  assert.ok(isAllowed(policy(['*'], ['delete_*']), 'read'))
  assert.ok(!isAllowed(policy(['*'], ['delete_*']), 'delete_all'))
  assert.ok(!isAllowed(policy([]), 'read'))
  assert.ok(!isAllowed(policy(['read_*']), 'write'))
})

test('an override changes the description and nothing else; without one the definition is the same object', () => {
  // A name that every object inherits must not count as an override.
  const definition = { name: 'toString', description: 'a', inputSchema: { type: 'object' }, 'x-extra': 1 }
  assert.equal(applyOverride(policy(['*']), definition), definition)
  const overrides = { toString: { description: 'b' } }
  assert.deepEqual(applyOverride({ ...policy(['*']), overrides }, definition), {
    ...definition,
    description: 'b',
  })
})
