/** Tests of queries in other languages, and of English ones that must be left alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGlossary } from './gloss.ts'

const glossOf = createGlossary()

test('German, Spanish, French and Chinese queries are read in English', () => {
  const cases: Record<string, RegExp> = {
    'eine Datei löschen': /file.*delete/,
    'Dateien im Ordner suchen': /file.*(folder|directory).*search/,
    'crear una rama nueva': /create.*branch/,
    'envoyer un message dans le canal': /send.*message.*channel/,
    列出所有文件: /list.*file/,
  }
  for (const [query, english] of Object.entries(cases))
    assert.match(glossOf(query)?.text ?? '', english, query)
})

test('stop words of other languages are distinguished from unknown words', () => {
  const { text, functionWords } = glossOf('zeige mir die Wegbeschreibung nach Quedlinburg') ?? assert.fail()
  assert.match(text, /directions quedlinburg$/)
  assert.deepEqual(functionWords, ['mir', 'die', 'nach'])
})

test('English queries are left alone, whatever words they share with other languages', () => {
  const queries = [
    'list pods in the default namespace',
    'die, zombie process: kill it',
    'send an email to Las Vegas',
    'create a table with a date column',
    'what is on my calendar',
    'message channel',
    'git log',
    '',
  ]
  for (const query of queries) assert.equal(glossOf(query), undefined, query)
})
