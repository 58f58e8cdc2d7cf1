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

test('colours and line breaks are removed', () => {
  assert.equal(harmless('\u001b[31mERROR\u001b[0m it broke \r', []), 'ERROR it broke')
})
