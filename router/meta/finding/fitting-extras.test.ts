/** Which resources and prompts an answer leaves out, because the query concerns only their server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '../../../core/json.ts'
import { createFixture } from '../../../test/meta/fixture.ts'
import { routeOf } from '../../catalog/catalog.ts'
import { fittingExtras } from './fitting-extras.ts'

const { extras } = createFixture({
  forge: {
    offers: {
      resources: [
        { uri: 'forge://notes', name: 'notes', description: 'Release notes of the forge' },
        { uri: 'forge://charter', name: 'charter', description: 'What the team agreed on' },
      ],
      prompts: [{ name: 'triage', description: 'Sorts what came in', arguments: [{ name: 'label' }] }],
    },
  },
}).catalog()

/** The names of the hits that are kept, of hits with these relevances. */
function kept(query: string, relevances: Record<string, number>): JsonValue[] {
  const hits = Object.entries(relevances).map(([name, relevance]) => {
    const item = extras.find(extra => routeOf(extra).definition.name === name) ?? assert.fail()
    return { item, relevance, weak: false, whole: false }
  })
  return fittingExtras(query, hits, hits.length).map(({ item }) => routeOf(item).definition.name ?? null)
}

test('equally relevant items of a server are left out if the query contains none of their own words', () => {
  assert.deepEqual(kept('forge create branch', { notes: 0.6, charter: 0.62, triage: 0.58 }), [])
})

test('items are kept if the query has a word of their name, description or argument, in any form', () => {
  const equal = { notes: 0.6, charter: 0.6, triage: 0.6 }
  assert.deepEqual(kept('forge release note', equal), ['notes'])
  assert.deepEqual(kept('what did teams agree', equal), ['charter'])
  assert.deepEqual(kept('forge label', equal), ['triage'])
})

test('an item more relevant than the others of its server is kept, since it was found by its meaning', () => {
  assert.deepEqual(kept('rules to work by', { notes: 0.5, charter: 0.8, triage: 0.5 }), ['charter'])
  assert.deepEqual(kept('rules to work by', { charter: 0.8 }), ['charter'])
})

test('an item of a server that the query names is kept only for a word of its own, however much it differs from others', () => {
  assert.deepEqual(kept('forge create branch', { charter: 0.8 }), [])
  assert.deepEqual(kept('forge create branch', { notes: 0.5, charter: 0.8 }), [])
  assert.deepEqual(kept('forge charter', { charter: 0.8 }), ['charter'])
})
