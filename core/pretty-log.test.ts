/** Log entries as people on a terminal see them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { firstHidden } from './hidden-characters.ts'
import { prettyLine } from './pretty-log.ts'

const ATTACKS = ['\u001b]52;c;ZXZpbA==\u0007', '\u009b2J', 'a\b\b\bevil', '\u202egnp']

test('texts of servers and clients do not control the terminal, in any field', () => {
  for (const attack of ATTACKS)
    for (const entry of [
      { msg: 'request', server: 'x', tool: attack, outcome: 'ok', durationMs: 1, client: 'c' },
      { msg: 'request', server: 'x', tool: 't', outcome: attack, durationMs: 1, client: attack },
      { msg: 'server wrote to stderr', server: 'x', stderr: attack },
      { msg: 'the installation failed', output: attack, err: { stack: attack }, [attack]: [attack] },
    ]) {
      const shown = prettyLine()(JSON.stringify({ level: 40, time: 0, ...entry }))
      assert.equal(firstHidden(stripColours(shown)), undefined, JSON.stringify(entry))
    }
})

test('a text that is part of a line does not end it or go back to its start', () => {
  const entry = {
    level: 30,
    time: 0,
    msg: 'request',
    server: 'x',
    tool: 'a\r\nb',
    outcome: 'ok',
    durationMs: 1,
  }
  assert.match(prettyLine()(JSON.stringify(entry)), /x:a b ok in 1 ms/)
})

/** Removes only what colours the line itself. */
function stripColours(line: string): string {
  return [31, 32, 33, 36, 39].reduce((text, code) => text.replaceAll(`\u001b[${code}m`, ''), line)
}

test('the output of an installer is shown with its lines', () => {
  const entry = { level: 40, time: 0, msg: 'the installation failed', server: 'a', output: 'one\ntwo' }
  const shown = stripVTControlCharacters(prettyLine()(JSON.stringify(entry)))
  assert.match(shown, /the installation failed server=a \none\ntwo\n$/)
})
