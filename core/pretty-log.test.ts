/** Log entries as people on a terminal see them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { prettyLine } from './pretty-log.ts'

test('the output of an installer is shown with its lines', () => {
  const entry = { level: 40, time: 0, msg: 'the installation failed', server: 'a', output: 'one\ntwo' }
  const shown = stripVTControlCharacters(prettyLine()(JSON.stringify(entry)))
  assert.match(shown, /the installation failed server=a \none\ntwo\n$/)
})
