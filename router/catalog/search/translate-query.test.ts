/** Tests of queries in other languages, and of English ones that must be left alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readWordLists } from '../../semantic/read-word-lists.ts'
import { prepareTranslators } from './translate-query.ts'
import { foldWord } from './word-lists.ts'

const translate = prepareTranslators()(term => term === 'mond')

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
    const translation = translate(query)
    assert.match(translation?.text ?? '', english, query)
    assert.equal(translation?.language, language, query)
  }
})

test('function words of other languages are distinguished from unknown words', () => {
  const { text, functionWords } = translate('zeige mir die Wegbeschreibung nach Quedlinburg') ?? assert.fail()
  assert.match(text, /directions quedlinburg$/)
  assert.deepEqual(functionWords, ['mir', 'die', 'nach'])
})

test('both parts of a German compound are translated', () => {
  assert.match(translate('alle Rechnungsnummern anzeigen')?.text ?? '', /invoice number/)
})

test('names and numbers of a query stay as they are', () => {
  assert.match(translate('annule la commande KS-91477 de Delacroix')?.text ?? '', /ks-91477 delacroix/)
  assert.match(translate('昨日のKS-91477の予約')?.text ?? '', /ks-91477/)
})

test('accents, elided articles, numbers and identifiers do not prevent the translation of a query', () => {
  const cases: Record<string, RegExp> = {
    'zeige mir die Größe der Datei': /show.*size.*file/,
    'usuń płatność klienta': /(delete|remove).*payment.*customer/,
    'kullanıcı hesabını sil': /user.*account.*delete/,
    'supprime l’utilisateur Delacroix': /(delete|remove).*user.*delacroix/,
    "cerca le fatture nell'archivio": /search.*invoice.*archive/,
    'Rechnung - 4711 - 4712 - 4713 - 4714 anzeigen': /invoice 4711 4712 4713 4714 show/,
    '搜索 create_issue': /search.* create_issue/,
  }
  for (const [query, english] of Object.entries(cases))
    assert.match(translate(query)?.text ?? '', english, query)
})

test('no word of a list is both a function word and an entry', () => {
  for (const [language, { functionWords, words }] of Object.entries(readWordLists())) {
    const entries = new Set(Object.values(words).flatMap(own => foldWord(own).split(' ')))
    const both = foldWord(functionWords)
      .split(' ')
      .filter(word => entries.has(word))
    assert.deepEqual(both, [], language)
  }
})

test('the name of a product of the catalog is neither translated nor left out', () => {
  assert.equal(
    translate('Monde rechercher des articles')?.words.some(({ word }) => word === 'monde'),
    false,
  )
  assert.match(translate('Monde rechercher des articles')?.text ?? '', /^monde /)
})

test('an unknown Japanese name is left out of the English text, but stays in the text for the word search', () => {
  const { text, read } = translate('昨日の田中太郎の予約') ?? assert.fail()
  assert.match(text, /^yesterday (booking|reservation)/)
  assert.match(read, /田中太郎/)
})

test('the translation of a query is bounded, however it is made', () => {
  const queries = [
    `mir eine rechnung die ${'㏂'.repeat(978)}`,
    `eine die ${'x'.repeat(980)}`,
    '列'.repeat(1_000),
    '예약'.repeat(500),
  ]
  for (const query of queries) {
    const translation = translate(query)
    assert.ok((translation?.words.length ?? 0) <= 120 && (translation?.text.length ?? 0) < 3_000)
  }
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
    'parlanto tutors',
    'Quittrel record payment for quittrel',
    'my favourite meditations stillpond',
    'hotels in Rio de Janeiro',
    'Starsieve starsieve approve',
    'moorhost reinstall OS',
    'git log',
    '',
  ]
  for (const query of queries) assert.equal(translate(query), undefined, query)
})
