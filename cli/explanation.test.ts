/** The text that explains a ranking. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createColors } from 'picocolors'
import type { ExplainedHit, Explanation } from '../router/catalog/search/search-index.ts'
import { explanationText } from './explanation.ts'

const colors = createColors(false)
const hit: ExplainedHit = {
  server: 'forge',
  tool: 'create_issue',
  relevance: 0.1,
  weak: true,
  matched: [{ term: 'bug', by: 'issu', fields: ['name'], score: 2 }],
  nameFactor: 1.15,
  serverScore: 0.25,
  lexical: 1,
  cosine: 0.37,
  semantic: 0.95,
  actionFactor: 0.9,
  score: 1.63,
}
const explanation: Explanation = {
  query: 'melde einen bug',
  english: 'report bug',
  terms: [
    {
      term: 'bug',
      word: 'bug',
      count: 1,
      alternatives: [{ term: 'issu', weight: 0.35, documents: 7, rarity: 2 }],
    },
  ],
  actions: ['create'],
  coverage: 0.5,
  similarity: { max: 0.51, min: 0.12 },
  pending: 3,
  hits: [hit],
  total: 1_234,
}

test('an explanation names the query, its words, the scale of similarity and the parts of every score', () => {
  const text = explanationText(explanation, colors)
  assert.match(text, /english +report bug/)
  assert.match(text, /cosine 0\.51 counts as 1, 0\.12 as 0; 3 tools have no vector yet/)
  assert.match(text, /bug +bug +0 +issu 0\.35/)
  const figures = ['1.63', '1.00', '0.95', '0.37', '0.90', '1.15', '0.25'].join(' +')
  assert.match(text, new RegExp(`${figures} +forge:create_issue \\(weak\\) +bug~issu \\(name\\)`))
  assert.match(text, /1,234 found$/)
})

test('without an encoder the explanation has no similarity, and a search without results says so', () => {
  const text = explanationText({ ...explanation, similarity: undefined, hits: [], total: 0 }, colors)
  assert.match(text, /by words alone/)
  assert.match(text, /no tool was found/)
})
