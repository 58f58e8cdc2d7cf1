/** The format of log lines, and redaction. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createLineWriter, createLog } from './log.ts'

function capture() {
  const output = new PassThrough({ encoding: 'utf8' })
  return {
    output,
    lines: () =>
      (output.read() as string | null)
        ?.trim()
        .split('\n')
        .map(line => JSON.parse(line)) ?? [],
  }
}

test('a line is JSON with its level in words, a time, the fields and a constant message', () => {
  const { output, lines } = capture()
  const log = createLog({ destination: output })
  log.info({ server: 'github', tools: 26 }, 'catalog swapped')
  log.debug('not at this level')
  const [line, ...more] = lines()
  assert.partialDeepStrictEqual(line, { level: 'info', server: 'github', tools: 26, msg: 'catalog swapped' })
  assert.match(line.time, /^\d{4}-\d\d-\d\dT/)
  assert.equal(more.length, 0)
})

test('fields with the name of a secret are redacted, also one level down', () => {
  const { output, lines } = capture()
  createLog({ destination: output }).warn(
    { token: 's3cret', headers: { authorization: 'Bearer s3cret' } },
    'x',
  )
  assert.doesNotMatch(JSON.stringify(lines()), /s3cret/)
})

test("a line of the line writer looks like one of the log, with the log's bindings", () => {
  const { output, lines } = capture()
  const log = createLog({ destination: output, level: 'warn' }).child({ gateway: 'tools' })
  createLineWriter(log, 'info')({ server: 'a"b', tool: undefined, durationMs: 1.5, msg: 'request' })
  log.warn({ server: 'a"b', durationMs: 1.5 }, 'request')
  const [written, logged] = lines()
  assert.deepEqual({ ...written, time: '', level: '' }, { ...logged, time: '', level: '' })
  assert.deepEqual(Object.keys(written), Object.keys(logged))
  assert.match(written.time, /^\d{4}-\d\d-\d\dT.*Z$/)
})
