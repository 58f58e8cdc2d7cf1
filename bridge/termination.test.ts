/** The termination message of a container. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { MAX_BYTES, terminationText, writeTermination } from './termination.ts'

const FAILURE = { reason: 'CrashLooping', message: 'The server ended\nagain', lines: ['one', 'two'] }

test('the message begins with the reason; the last lines of output follow, oldest first', () => {
  assert.equal(terminationText(FAILURE, []), 'CrashLooping: The server ended again\none\ntwo')
})

test('secrets are removed: the given values, and values whose name suggests a secret', () => {
  const withSecrets = {
    ...FAILURE,
    message: 'bad key s3cr3t-value',
    lines: ['token=abcdef', 'http://me:pw12@host/'],
  }
  assert.equal(
    terminationText(withSecrets, ['s3cr3t-value']),
    'CrashLooping: bad key [redacted]\ntoken=[redacted]\nhttp://[redacted]@host/',
  )
})

test('as many of the last lines as fit are kept', () => {
  const lines = Array.from({ length: 50 }, (_, index) => `${index} ${'é'.repeat(100)}`)
  const text = terminationText({ ...FAILURE, message: 'x'.repeat(5_000), lines }, [])
  assert.ok(Buffer.byteLength(text) <= MAX_BYTES)
  assert.ok(Buffer.byteLength(text) > MAX_BYTES - 250)
  assert.ok(text.endsWith(lines.at(-1) ?? ''))
  assert.match(text.split('\n')[0] ?? '', /^CrashLooping: x+…$/)
})

test('the termination message is written only if the kubelet has created the file', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-termination-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const terminationLog = join(folder, 'log')
  await writeTermination({ terminationLog, secrets: [] }, FAILURE)
  assert.equal(existsSync(terminationLog), false)
  writeFileSync(terminationLog, 'x'.repeat(500))
  await writeTermination({ terminationLog, secrets: [] }, FAILURE)
  assert.equal(readFileSync(terminationLog, 'utf8'), terminationText(FAILURE, []))
})
