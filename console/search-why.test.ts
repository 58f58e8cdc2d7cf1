/** Why a search found what it found. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Explained,
  type Hit,
  labelledQuery,
  matchedWords,
  missedWords,
  unknownWords,
  whyNot,
} from './search-why.ts'

const hit = (tool: string, score: number, more: Partial<Hit> = {}): Hit => ({
  ...{
    server: 'git',
    tool,
    weak: false,
    matched: [],
    nameFactor: 1,
    serverScore: 0,
    lexical: score,
    actionFactor: 1,
    score,
  },
  ...more,
})
const term = (word: string, documents: number) => ({
  word,
  term: word,
  alternatives: [{ term: word, documents }],
})
const explained: Explained = {
  ...{ query: 'show history', actions: [], coverage: 1, total: 2 },
  terms: [term('show', 3), term('history', 0)],
  hits: [
    hit('git_log', 0.9, {
      matched: [{ term: 'show', by: 'list', fields: ['name', 'serverDescription'], score: 1 }],
    }),
    hit('git_show', 0.4, { weak: true }),
  ],
}
const [first, second] = explained.hits as [Hit, Hit]

test('each matched word is shown with the term that it matched, and the field', () => {
  assert.deepEqual(matchedWords(explained, first), ["show as list (name, server's description)"])
  assert.deepEqual(missedWords(explained, first), ['history'])
  assert.deepEqual(unknownWords(explained), ['history'])
  assert.deepEqual(missedWords(explained, second), ['show', 'history'])
})

test('a matched word is shown as it was typed, not by its stem', () => {
  const matched = [{ term: 'messag', by: 'messag', fields: ['name'], score: 1 }]
  const stemmed = { ...explained, terms: [{ ...term('messag', 2), word: 'messages' }] }
  assert.deepEqual(matchedWords(stemmed, hit('post', 1, { matched })), ['messages (name)'])
})

test('the reason why a tool is not in an answer is shown', () => {
  const why = (
    path: string,
    facts: Partial<{ isKnown: boolean; isHeld: boolean; hiddenState: string }> = {},
  ) => whyNot(explained, path, 1, { isKnown: true, ...facts })
  assert.match(why('git:git_log'), /^It is found: number 1, with a score of 0.90. It lacks "history".$/)
  assert.match(
    why('git:git_show'),
    /^It is number 2, with a score of 0.40; the first has 0.90. It is a weak hit/,
  )
  assert.match(why('git:git_add'), /^It is not among the first 2/)
  assert.match(why('git:git_add', { hiddenState: 'failed' }), /^Its server is failed/)
  assert.match(why('git:git_add', { isKnown: false, hiddenState: 'failed' }), /^Its server is failed/)
  assert.match(why('git:git_add', { isHeld: true }), /^It is held until its change is approved/)
  assert.match(why('git:nothing', { isKnown: false }), /^There is no tool "git:nothing" here/)
})

test('a labelled query is a line that portolan eval reads', () => {
  assert.equal(
    labelledQuery('a "b"', ['git:git_log']),
    '- {"query":"a \\"b\\"","relevant":[{"server":"git","tool":"git_log"}]}',
  )
})
