/** The command that makes a call, in a real shell. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { shellCall } from './result.ts'

/** What the command gets as its path and its arguments. */
function wordsOf(command: string): string[] {
  const script = command.replace('npx portolan call', `printf '%s\\0'`)
  return execFileSync('bash', ['-c', script], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  })
    .split('\0')
    .slice(0, -1)
}

test('whatever the name of a tool is, the command passes its path as one word and runs nothing', () => {
  const args = { text: `it's $(echo owned) \\ "x"` }
  for (const name of [
    'x$(echo owned)',
    'x; echo owned',
    "x'; echo owned; '",
    'x`echo owned`|cat',
    'x\necho owned\n',
    "x\u0003echo 'owned'\\\n\u001b[201~\u009b",
    '*',
    'ü "y"',
  ])
    assert.deepEqual(wordsOf(shellCall(`files:${name}`, args)), [`files:${name}`, JSON.stringify(args)])
})

test('a command has no control characters, and an ordinary path has no quotes', () => {
  assert.doesNotMatch(shellCall('files:x\u0003\n\u001b', { text: '\u007f' }), /\p{Cc}/u)
  assert.equal(shellCall('files:read-text_file', {}), "npx portolan call files:read-text_file '{}'")
})
