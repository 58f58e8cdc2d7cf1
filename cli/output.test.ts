/** How commands print results, problems, token counts and the help for clients. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createColors } from 'picocolors'
import { clientHelp, type HelpOptions } from './client-help.ts'
import { count, createTerminal, noteLine, problemLine, table } from './output.ts'
import { costLines, savedLine } from './tokens.ts'

test('columns are as wide as their visible text, without trailing blanks', () => {
  const { bold } = createColors(true)
  const text = table(
    [{ title: 'A' }, { title: 'N', align: 'right' }, { title: '' }],
    [
      [['abc', bold], '1', ''],
      ['d', '1,234', 'x'],
    ],
  )
  assert.deepEqual(text.split('\n'), ['A        N', `${bold('abc')}      1`, 'd    1,234  x'])
})

test('the result of a tool is written as it is, except to a terminal, where control characters have no effect', () => {
  const result = 'a\u001b]52;c;ZXZpbA==\u0007\r\nb\tc\rd\u009b2J'
  const written = (isTTY: boolean) => {
    const texts: string[] = []
    const stream = { isTTY, write: (text: string) => texts.push(text) }
    createTerminal({ env: {}, stdout: stream, stderr: stream } as never).outRaw(result)
    return texts.join('')
  }
  assert.equal(written(false), `${result}\n`)
  assert.equal(written(true), 'a⟨U+001B escape⟩]52;c;ZXZpbA==⟨U+0007⟩\nb\tc d⟨U+009B⟩2J\n')
})

test('control characters in the texts of tables, problems and notes are shown and have no effect', () => {
  const { bold } = createColors(true)
  const evil = 'a\u001b]0;owned\u0007\u001b[31m\r\nb\u009b2J'
  const shown = 'a⟨U+001B escape⟩]0;owned⟨U+0007, U+001B escape⟩[31m b⟨U+009B⟩2J'
  assert.deepEqual(
    table([{ title: 'A' }, { title: 'B' }], [[evil, [evil, bold]]])
      .split('\n')
      .slice(1),
    [`${shown}  ${bold(shown)}`],
  )
  const problem = { reason: 'R', message: evil, path: evil, file: evil }
  for (const line of [problemLine, noteLine]) {
    const text = line(problem, createColors(false))
    assert.ok(text.includes(shown))
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must be gone
    assert.doesNotMatch(text, /[\u0000-\u001f\u0080-\u009f]/)
  }
})

test('numbers are rounded and have commas between thousands', () => {
  assert.deepEqual([0, 999, 1000, 1234567.4].map(count), ['0', '999', '1,000', '1,234,567'])
})

test('a problem names file, line, column, field, message and reason', () => {
  const problem = {
    reason: 'UnknownField',
    message: 'is not known',
    path: 'spec.x',
    file: 'a.yaml',
    line: 3,
    column: 5,
  }
  assert.equal(problemLine(problem, createColors(false)), 'a.yaml:3:5  spec.x  is not known (UnknownField)')
  assert.equal(problemLine({ reason: 'R', message: 'm' }, createColors(false)), 'm (R)')
})

test('the URLs of other profiles are listed', () => {
  const help = (others: HelpOptions['others']) =>
    clientHelp('http://127.0.0.1:1/mcp', { others }, createColors(false))
  assert.doesNotMatch(help([]), /profile/)
  assert.match(
    help(['search', 'direct']),
    /^Other profiles: http:\/\/127\.0\.0\.1:1\/mcp\/search, http:\/\/127\.0\.0\.1:1\/mcp\/direct$/m,
  )
})

test('the line of each client has the token that the gateway requires, and none if it requires none', () => {
  const lines = (token?: string) =>
    clientHelp('http://127.0.0.1:1/mcp', { others: [], token }, createColors(false)).split('\n')
  const [, ...plain] = lines()
  const [, ...withToken] = lines('s3cret')
  assert.equal(withToken.length, plain.length)
  for (const line of plain) assert.doesNotMatch(line, /Authorization|header|TOKEN/)
  for (const line of withToken)
    assert.match(line, /Authorization"?: ?"?Bearer s3cret"|--bearer-token-env-var PORTOLAN_TOKEN/)
})

test('the cost through the gateway is compared in percent, less or more, and not at all without tools', () => {
  const lines = (direct: number) => costLines({ tools: { total: 1 }, tokens: { direct, exposed: 300 } })
  assert.match(lines(30_000), /cost it 300, 99\.0 % less/)
  assert.match(lines(150), /100\.0 % more/)
  assert.match(lines(0), /cost it 300\.$/)
})

test('saved tokens are printed, or how many more the gateway cost, but nothing before the first request', () => {
  const line = (direct: number, served: number) =>
    savedLine({ direct, served, saved: direct - served, kinds: {}, routes: {} })
  assert.equal(line(219_661, 1_400), 'saved 218,261 tokens: 219,661 direct, 1,400 served')
  assert.equal(line(100, 343), 'cost 243 more tokens: 100 direct, 343 served')
  assert.equal(line(0, 0), undefined)
})
