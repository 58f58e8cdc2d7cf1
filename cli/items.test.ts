/** Files of labelled queries and tasks: accepted forms, and errors. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CommandError } from './command-error.ts'
import { readLabelledQueries } from './labelled-queries.ts'
import { readScenario } from './scenario.ts'

const QUERY = { query: 'open a bug', relevant: [{ server: 'forge', tool: 'create_issue' }] }
const PARSED = { query: 'open a bug', relevant: [{ server: 'forge', tool: 'create_issue', group: 0 }] }

function fileOf(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-items-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'items')
  writeFileSync(file, text)
  return file
}

test('labelled queries are lines of JSON, or a list in JSON or YAML', t => {
  const yaml = '- query: open a bug\n  relevant: [{ server: forge, tool: create_issue }]\n'
  for (const text of [
    `${JSON.stringify(QUERY)}\n\n${JSON.stringify(QUERY)}\n`,
    JSON.stringify([QUERY, QUERY]),
    yaml + yaml,
  ])
    assert.deepEqual(readLabelledQueries(fileOf(t, text)), [PARSED, PARSED])
})

test('a task searches, and may call a tool, with or without arguments', t => {
  const text =
    '- { query: a, call: { tool: "x:y", arguments: { z: 1 } } }\n- { query: b, call: { tool: "x:y" } }\n- query: c\n'
  assert.deepEqual(readScenario(fileOf(t, text)), [
    { query: 'a', call: { tool: 'x:y', arguments: { z: 1 } } },
    { query: 'b', call: { tool: 'x:y', arguments: {} } },
    { query: 'c' },
  ])
})

test('an error names the wrong item or line; a file without items is an error too', t => {
  const wrong: [string, RegExp][] = [
    [`[${JSON.stringify(QUERY)}, {"query": "x", "relevant": []}]`, /items item 2 {2}relevant {2}/],
    [`${JSON.stringify(QUERY)}\n\n{"query": "x"}`, /items:3 {2}relevant {2}/],
    [`${JSON.stringify(QUERY)}\n{"query": "x"`, /items:2 cannot be read: .*JSON/],
    ['', /no items: write/],
    ['query: x', /no list/],
    ['[]', /no items/],
  ]
  for (const [text, message] of wrong)
    assert.throws(
      () => readLabelledQueries(fileOf(t, text)),
      error => error instanceof CommandError && error.exitCode === 2 && message.test(error.message),
    )
  assert.throws(() => readScenario('no-such-file'), /there is no such file: no-such-file/)
  assert.throws(() => readScenario(fileOf(t, '- { query: x, cal: {} }')), /item 1/)
})
