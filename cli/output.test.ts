/** How results and problems are written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createColors } from 'picocolors'
import { count, problemLine, table } from './output.ts'
import { costLines } from './tokens.ts'

test('columns are as wide as what is seen of them, and end without blanks', () => {
  const bold = createColors(true).bold('abc')
  const text = table(
    [{ title: 'A' }, { title: 'N', align: 'right' }, { title: '' }],
    [
      [bold, '1', ''],
      ['d', '1,234', 'x'],
    ],
  )
  assert.deepEqual(text.split('\n'), ['A        N', `${bold}      1`, 'd    1,234  x'])
})

test('numbers have commas in every locale', () => {
  assert.deepEqual([0, 999, 1000, 1234567.4].map(count), ['0', '999', '1,000', '1,234,567'])
})

test('a problem names place, field and what to do', () => {
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

test('the saving may be negative, and nothing is saved of nothing', () => {
  const lines = (direct: number) =>
    costLines({ tools: { total: 1, byTransport: {} }, tokens: { direct, exposed: 300 } })
  assert.match(lines(30_000), /cost it 300, 99\.0 % less/)
  assert.match(lines(150), /100\.0 % more/)
  assert.match(lines(0), /cost it 300\.$/)
})
