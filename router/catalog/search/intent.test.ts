/** Tests of what a query is taken to ask for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { intentFactor, intentOf } from './intent.ts'
import { buildLexicon, type Lexicon } from './lexicon.ts'
import { wordsOf } from './text.ts'

const lexicon = built()
const classesOf = (query: string) => lexicon.classNames(intentOf(wordsOf(query), lexicon).classes)

test('the verb that leads says what is to be done, whatever stands before it', () => {
  const cases: Record<string, string[]> = {
    'create an issue': ['create'],
    'Could you please delete the old branch?': ['delete'],
    "I'd like to send a note to Anna": ['send'],
    'how do I list all pods': ['list'],
    'how to merge two files': ['merge'],
    'turn on the lamp': ['enable'],
  }
  for (const [query, classes] of Object.entries(cases)) assert.deepEqual(classesOf(query), classes, query)
})

test('a question asks to read', () => {
  for (const query of ['which volumes do I have', 'Who wrote this line?', 'is there a bakery near by'])
    assert.equal(intentOf(wordsOf(query), lexicon).question, true, query)
  assert.deepEqual(classesOf('what databases are there'), lexicon.classNames(lexicon.reading))
})

test('a query that does not begin with a verb asks for nothing in particular', () => {
  for (const query of ['pull request comments', 'github issue create', 'weather', '', 'please', 'the a an'])
    assert.deepEqual(classesOf(query), [], query)
})

test('tools that do something else are worth less, those that write least where a question is asked', () => {
  const bits = (verb: string) => lexicon.action(verb)
  const asks = { classes: bits('list'), question: false }
  const wonders = { classes: lexicon.reading, question: true }
  assert.equal(intentFactor(asks, bits('list'), lexicon.reading), 1)
  assert.equal(intentFactor(asks, 0, lexicon.reading), 1)
  assert.ok(
    intentFactor(asks, bits('get'), lexicon.reading) > intentFactor(asks, bits('delet'), lexicon.reading),
  )
  assert.ok(
    intentFactor(wonders, bits('delet'), lexicon.reading) <
      intentFactor(asks, bits('delet'), lexicon.reading),
  )
})

function built(): Lexicon {
  const steps = buildLexicon()
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
