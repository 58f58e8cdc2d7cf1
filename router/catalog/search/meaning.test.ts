/** Tests of the ranking with vectors, made by hand so that it is known what is near. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quantize, type Vector } from '../../../core/catalog/vectors.ts'
import { prepareDots } from '../../../core/encoder/dots.ts'
import { buildIndex } from './build.ts'
import kinds from './data/kinds.json' with { type: 'json' }
import { combinedScore, WEIGHTS } from './fusion.ts'
import type { SearchDocument, SearchIndex, SearchOptions } from './search-index.ts'
import { createVectorTable } from './vectors.ts'

const documents: SearchDocument[] = [
  tool('forge', 'create_issue', 'Open a new issue in a repository'),
  tool('forge', 'list_issues', 'List the issues of a repository'),
  tool('files', 'delete_file', 'Remove a file from disk'),
  tool('files', 'read_file', 'Read a text file'),
  tool('monitor', 'get_current_oncall', 'Who is on duty'),
]
const KINDS_APART = 180
const index = build()
/** One direction for each tool. */
const directions = documents.map((_, at) => direction(at))
const table = createVectorTable(directions, prepareDots())

test('a similar tool is found without a common word, and is not weak', () => {
  const hits = search('whom do I wake tonight', near(4)).hits
  assert.equal(hits[0]?.document, 4)
  assert.equal(hits[0]?.weak, false)
})

test('words and meaning together are better than either of them', () => {
  const query = mixed([
    [1, 0.8],
    [3, 0.6],
  ])
  const near = mixed([
    [1, 0.6],
    [3, 0.7],
  ])
  assert.equal(search('repository issues', meaning(near)).hits[0]?.document, 1)
  assert.equal(search('file', meaning(query)).hits[0]?.document, 3)
})

test('an exact name is first, however far its vector is', () => {
  for (const name of ['create_issue', 'forge:create_issue', 'create issue', 'creat_issue'])
    assert.equal(search(name, near(2)).hits[0]?.document, 0, name)
})

test('hidden tools are not found and do not affect the scale, even if they are nearest', () => {
  const visible = (document: number) => document !== 4
  const answer = search('whom do I wake tonight', { ...near(4), visible })
  const without = search('whom do I wake tonight', { ...near(0), visible: document => document !== 0 })
  assert.ok(!answer.hits.some(hit => hit.document === 4))
  assert.equal(answer.total, answer.hits.filter(hit => !hit.weak).length)
  assert.ok(answer.hits.every(hit => hit.weak) && without.hits.every(hit => hit.document !== 0))
})

test('the only visible tool is found by its meaning', () => {
  const answer = search('whom do I wake tonight', { ...near(4), visible: document => document === 4 })
  assert.deepEqual([answer.total, answer.hits[0]?.document, answer.hits[0]?.weak], [1, 4, false])
})

test('a tool without a vector yet is found by its words, which also count as its meaning', () => {
  const partly = createVectorTable(
    directions.map((vector, at) => (at === 2 ? undefined : vector)),
    prepareDots(),
  )
  assert.equal(partly.pending, 1)
  const options = { limit: 5, meaning: { query: direction(3), documents: partly } }
  assert.equal(index.search('delete file from disk', options).hits[0]?.document, 2)
})

test('without any vector, or with vectors of other dimensions, the order is that of the words', () => {
  const bare = createVectorTable(
    documents.map(() => undefined),
    prepareDots(),
  )
  const other = createVectorTable(
    documents.map((_, at) => quantize(at === 0 ? [1, 0] : [0, 1])),
    prepareDots(),
  )
  const words = index.search('delete a file', { limit: 5 })
  for (const documents of [bare, other]) {
    const answer = index.search('delete a file', { limit: 5, meaning: { query: direction(0), documents } })
    assert.deepEqual(
      answer.hits.map(hit => hit.document),
      words.hits.map(hit => hit.document),
    )
    assert.ok(answer.hits.every(hit => hit.relevance >= 0 && hit.relevance <= 1))
  }
  assert.equal(bare.pending, documents.length)
})

test('an empty index answers with nothing', () => {
  const empty = build([])
  const meaning = { query: direction(0), documents: createVectorTable([], prepareDots()) }
  assert.deepEqual(empty.search('anything', { limit: 5, meaning }), { hits: [], total: 0 })
})

test('the encoded text of a query is in English, with words written out', () => {
  assert.equal(index.queryText('eine Datei löschen'), 'file delete')
  assert.equal(index.queryText('crt isue'), 'create issue')
  assert.equal(index.queryText('please open an issue for Marek'), 'please open an issue for Marek')
})

test('the parts of an explanation add up to the score, and agree with the search', () => {
  for (const options of [{ limit: 3 }, near(3)]) {
    const { hits, ...explanation } = index.explain('read the fiel from disk', options)
    const found = index.search('read the fiel from disk', options)
    assert.equal(explanation.total, found.total)
    for (const [at, hit] of hits.entries()) {
      assert.equal(hit.tool, documents[found.hits[at]?.document as number]?.tool)
      assert.equal(hit.relevance, found.hits[at]?.relevance)
      const matched = hit.matched.reduce((sum, part) => sum + part.score, 0)
      assert.ok(hit.matched.every(part => part.fields.length > 0))
      if ('meaning' in options) {
        assert.ok(
          Math.abs(hit.score - combinedScore(hit.lexical, hit.semantic ?? 0, WEIGHTS) * hit.actionFactor) <
            1e-9,
        )
        assert.ok((hit.cosine ?? 2) <= 1.01)
      } else
        assert.ok(Math.abs(hit.score / hit.actionFactor - matched * hit.nameFactor - hit.serverScore) < 1e-9)
    }
    assert.deepEqual(JSON.parse(JSON.stringify(explanation)), explanation)
  }
  assert.deepEqual(index.explain('?', { limit: 3 }).hits, [])
  assert.equal(index.explain('create_issue', { limit: 1 }).hits[0]?.named, 'name')
})

function search(query: string, options: SearchOptions) {
  return index.search(query, options)
}

function near(document: number): SearchOptions & { meaning: object } {
  return meaning(direction(document))
}

function meaning(query: Vector): SearchOptions & { meaning: object } {
  return { limit: 5, meaning: { query, documents: table } }
}

function direction(at: number): Vector {
  return mixed([[at, 1]])
}

/** The directions are those of kinds of tools far from each other. */
function mixed(parts: [at: number, share: number][]): Vector {
  const { components, dimensions } = kinds
  const all = new Int8Array(Buffer.from(components, 'base64'))
  const sum = new Float64Array(dimensions)
  for (const [at, share] of parts) {
    const own = all.subarray(at * KINDS_APART * dimensions, (at * KINDS_APART + 1) * dimensions)
    const length = Math.hypot(...own)
    for (const [place, value] of own.entries()) sum[place] = (sum[place] as number) + (share * value) / length
  }
  return quantize(sum)
}

function tool(server: string, name: string, description: string): SearchDocument {
  return { server, tool: name, description, keywords: [] }
}

function build(content: readonly SearchDocument[] = documents): SearchIndex {
  const steps = buildIndex(content)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
