/** What is removed from the lines of a child. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { harmless, secretLines } from './harmless.ts'

test('known secrets, and values whose names look secret, are removed from a line', () => {
  const secrets = secretLines(['s3cr3t', 's3cr3t-and-more', 'line one of a key\nline two of a key', 'ab'])
  const cases = {
    'using s3cr3t-and-more here': 'using [redacted] here',
    'using s3cr3t here': 'using [redacted] here',
    'line two of a key': '[redacted]',
    'Authorization: Bearer abc.def-ghi': 'Authorization: [redacted]',
    'header was "Bearer abcdefghijk"': 'header was "Bearer [redacted]"',
    'API_KEY=12345 host=example': 'API_KEY=[redacted] host=example',
    '{"password": "hunter2", "user": "me"}': '{"password": "[redacted]", "user": "me"}',
    'postgres://me:hunter2@db/x': 'postgres://[redacted]@db/x',
    'postgres://me:hun@ter2@db/x?to=a@b': 'postgres://[redacted]@db/x?to=a@b',
    'redis://:hunter2@db/0': 'redis://[redacted]@db/0',
    'http://localhost:80 is served': 'http://localhost:80 is served',
    'the token is missing': 'the token is missing',
    'ab stays, it is too short to be a secret': 'ab stays, it is too short to be a secret',
  }
  for (const [line, expected] of Object.entries(cases)) assert.equal(harmless(line, secrets), expected)
})

test('what is left of a line does not control a terminal', () => {
  const cases = {
    '\u001b\u001b[0m]52;c;ZXZpbA==\u0007': '⟨U+001B escape⟩]52;c;ZXZpbA==⟨U+0007⟩',
    '\u009b\u001b[0m2Jgone': '⟨U+009B⟩2Jgone',
    'abc\b\b\bxyz': 'abc⟨U+0008, U+0008, U+0008⟩xyz',
    '10 %\r20 %\u0085done': '10 % 20 % done',
    'a\tb é 日本 👩‍💻': 'a\tb é 日本 👩‍💻',
  }
  for (const [line, expected] of Object.entries(cases)) assert.equal(harmless(line, []), expected)
})

test('colours and line breaks are removed', () => {
  assert.equal(harmless('\u001b[31mERROR\u001b[0m it broke \r', []), 'ERROR it broke')
})
