/** Tests of what a query is taken to ask for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { intentFactor, intentOf } from './intent.ts'
import { buildLexicon, type Lexicon } from './lexicon.ts'
import { wordsOf } from './text.ts'

const lexicon = built()
const classesOf = (query: string) => lexicon.classNames(intentOf(wordsOf(query), lexicon).classes)

test('the leading verb decides the action, whatever stands before it', () => {
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

test('the verb after the name of a product says what is to be done', () => {
  const isProduct = (term: string) => term === 'gitlab'
  const asks = (query: string) => lexicon.classNames(intentOf(wordsOf(query), lexicon, isProduct).classes)
  assert.deepEqual(asks('gitlab delete branch'), ['delete'])
  assert.deepEqual(asks('gitlab comment on merge request'), ['create'])
  assert.deepEqual(asks('branches delete'), [])
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

test('after a reading verb, a word that is mostly an object mentions no change', () => {
  const mentions = (query: string) => (intentOf(wordsOf(query), lexicon).mentioned & lexicon.changing) !== 0
  for (const query of [
    'slack get message',
    'view message in slack',
    'slack get reaction',
    'find the booking of Anna',
    'read updates of issue',
    'get reservation of table',
  ])
    assert.equal(mentions(query), false, query)
  for (const query of [
    'slack message the team',
    'find and message the user',
    'read the note, then post it',
    'find tool to copy files',
    'find a tool that posts messages',
    'find tool for deleting branches',
    'search delete branch',
    'find & replace text in a file',
    'find the merge request, merge it',
    'view file edit lines',
    'find user, assign issue to him',
  ])
    assert.equal(mentions(query), true, query)
})

test('tools with another action score less, and tools that write score least for a question', () => {
  const bits = (verb: string) => lexicon.action(verb)
  const asks = { classes: bits('list'), question: false }
  const questions = { classes: lexicon.reading, question: true }
  assert.equal(intentFactor(asks, bits('list'), lexicon), 1)
  assert.equal(intentFactor(asks, 0, lexicon), 1)
  assert.ok(intentFactor(asks, bits('get'), lexicon) > intentFactor(asks, bits('delet'), lexicon))
  assert.ok(intentFactor(questions, bits('delet'), lexicon) < intentFactor(asks, bits('delet'), lexicon))
})

test('to switch something on or off, tools that enable or update are preferred, then others that write', () => {
  const bits = (verb: string) => lexicon.action(verb)
  const switches = { classes: bits('enabl'), question: false }
  assert.equal(intentFactor(switches, bits('enabl'), lexicon), 1)
  assert.equal(intentFactor(switches, bits('updat'), lexicon), 1)
  assert.ok(intentFactor(switches, bits('creat'), lexicon) < 1)
  assert.ok(intentFactor(switches, bits('get'), lexicon) < intentFactor(switches, bits('creat'), lexicon))
})

function built(): Lexicon {
  const steps = buildLexicon()
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
