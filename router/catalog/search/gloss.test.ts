/** Tests of queries in other languages, and of English ones that must be left alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGlossary } from './gloss.ts'

const glossOf = createGlossary()

test('queries in twelve languages are read in English', () => {
  const cases: [language: string, query: string, english: RegExp][] = [
    ['de', 'eine Datei löschen', /file.*delete/],
    ['de', 'Dateien im Ordner suchen', /file.*(folder|directory).*search/],
    ['es', 'crear una rama nueva', /create.*branch/],
    ['fr', 'envoyer un message dans le canal', /send.*message.*channel/],
    ['it', 'mostrami le fatture scadute', /show.*invoice.*(overdue|expired)/],
    ['nl', 'verwijder de factuur van vorige maand', /(delete|remove).*invoice.*month/],
    ['pl', 'pokaż wszystkie faktury z tego miesiąca', /show.*invoice.*month/],
    ['pt', 'cancelar a reserva do quarto', /cancel.*(booking|reservation).*room/],
    ['ru', 'удали счёт за прошлый месяц', /delete.*(invoice|account).*month/],
    ['tr', 'faturayı iptal et', /invoice.*cancel/],
    ['zh', '列出所有文件', /list.*file/],
    ['ja', '予約をキャンセルして', /booking.*cancel/],
    ['ko', '예약을 취소해 줘', /booking.*cancel/],
  ]
  for (const [language, query, english] of cases) {
    const gloss = glossOf(query)
    assert.match(gloss?.text ?? '', english, query)
    assert.equal(gloss?.language, language, query)
  }
})

test('function words of other languages are distinguished from unknown words', () => {
  const { text, functionWords } = glossOf('zeige mir die Wegbeschreibung nach Quedlinburg') ?? assert.fail()
  assert.match(text, /directions quedlinburg$/)
  assert.deepEqual(functionWords, ['mir', 'die', 'nach'])
})

test('both parts of a German compound are translated', () => {
  assert.match(glossOf('alle Rechnungsnummern anzeigen')?.text ?? '', /invoice number/)
})

test('names and numbers of a query stay as they are', () => {
  assert.match(glossOf('annule la commande KS-91477 de Delacroix')?.text ?? '', /ks-91477 delacroix/)
  assert.match(glossOf('昨日のKS-91477の予約')?.text ?? '', /ks-91477/)
})

test('English queries are left alone, whatever words they share with other languages', () => {
  const queries = [
    'list pods in the default namespace',
    'die, zombie process: kill it',
    'send an email to Las Vegas',
    'send an email to Jan de Vries in La Paz',
    'create a table with a date column',
    'what is on my calendar',
    'report a bug as a case',
    "which y satisfies y' = y(1-y)",
    'begin stocktke zone F',
    'message channel',
    'git log',
    '',
  ]
  for (const query of queries) assert.equal(glossOf(query), undefined, query)
})
