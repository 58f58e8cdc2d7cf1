/** Tests of the index as its users see it: what is found, what is hidden, what is reused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grownBytes, longText } from '../../../test/support/memory.ts'
import { buildIndex, type LexicalIndex, runSliced } from './build.ts'
import type { SearchDocument, SearchIndex } from './search-index.ts'

const documents: SearchDocument[] = [
  tool('forge', 'create_issue', 'Open a new issue in a repository'),
  tool('forge', 'create_issue_comment', 'Comment on an issue'),
  tool('forge', 'list_issues', 'List the issues of a repository'),
  tool('forge', 'merge_pull_request', 'Merge a pull request'),
  tool('tracker', 'create_issue', 'Report a bug'),
  tool('files', 'delete_file', 'Remove a file from disk'),
  tool('files', 'read_file', 'Read a text file', { keywords: ['cat'] }),
  tool('monitor', 'get_current_oncall', 'Who is on duty'),
  tool('odd', 'constructor', '__proto__ toString'),
  tool('odd', '列出分支', '列出仓库的所有分支'),
]
const index = build(documents)

test('the tool that a query means comes before similar tools of its server', () => {
  const cases: Record<string, string> = {
    'open an issue in forge': 'forge:create_issue',
    'write a comment on an issue': 'forge:create_issue_comment',
    'show all issues': 'forge:list_issues',
    'merge a pull request': 'forge:merge_pull_request',
    'throw a file away': 'files:delete_file',
    'who is on call': 'monitor:get_current_oncall',
  }
  for (const [query, path] of Object.entries(cases)) assert.equal(paths(index, query)[0], path, query)
})

test('mistyped, clipped and abbreviated words, other languages and keywords are understood', () => {
  const cases: Record<string, string> = {
    'crete isue forge': 'forge:create_issue',
    'lst isss forge': 'forge:list_issues',
    'rm file': 'files:delete_file',
    'mrge PR': 'forge:merge_pull_request',
    'eine Datei löschen': 'files:delete_file',
    列出分支: 'odd:列出分支',
    cat: 'files:read_file',
  }
  for (const [query, path] of Object.entries(cases)) assert.equal(paths(index, query)[0], path, query)
})

test('stop words of other languages are not taken for misspelt English words', () => {
  const words = (query: string) => index.explain(query, { limit: 1 }).terms.map(({ word }) => word)
  assert.deepEqual(words('Lösche mir bitte die Datei von gestern'), ['losche', 'datei', 'gestern'])
  assert.deepEqual(words('die and pour'), ['die', 'pour'])
})

test('a known word that no tool uses stands for similar words, and is not corrected', () => {
  const tick = tool('notes', 'tick_off', 'Tick an open entry off')
  const more = build([...documents, tick, tool('graph', 'open_nodes', 'Open nodes by name')])
  assert.equal(paths(more, 'open a new ticket')[0], 'forge:create_issue')
  const [ticket] = more.explain('ticket', { limit: 1 }).terms
  const others = ticket?.alternatives.map(({ term }) => term) ?? []
  assert.ok(others.includes('issu') && !others.includes('tick'), String(others))
})

test('what the manifest and the upstream say of a server helps to find its tools', () => {
  const plain = tool('a1', 'list_entries', 'List entries')
  const known: Record<string, Partial<SearchDocument>> = {
    'zebra entries': { serverTitle: 'Zebra' },
    'list pelican stuff': { upstreamTitle: 'Pelican' },
    'accounting entries': { serverKeywords: ['accounting'] },
    'payroll entries': { serverDescription: 'Payroll of the firm' },
    'vineyard entries': { instructions: 'Knows all about the vineyard.' },
    'ledger lines': { keywords: ['ledger'] },
  }
  for (const [query, more] of Object.entries(known)) {
    const two = build([plain, tool('b2', 'list_entries', 'List entries', more)])
    assert.equal(paths(two, query)[0], 'b2:list_entries', query)
  }
})

test('a plural in a query finds the tool for many, a singular the tool for one', () => {
  const notes = build([
    tool('pad', 'get_note', 'Shows a note'),
    tool('pad', 'get_notes', 'Shows a note'),
    tool('pad', 'list_link', 'Lists links'),
    tool('pad', 'remove_links', 'Lists links'),
  ])
  assert.equal(paths(notes, 'show me my notes')[0], 'pad:get_notes')
  assert.equal(paths(notes, 'show me the note')[0], 'pad:get_note')
  assert.equal(paths(notes, 'show me the links')[0], 'pad:list_link')
})

test('resources, templates and prompts are found by kind, address and arguments', () => {
  const items = build([
    tool('docs', 'guide', 'How to begin', { kind: 'resource', uri: 'file:///handbook/onboarding.md' }),
    tool('docs', 'guide', 'How to begin', { kind: 'prompt' }),
    tool('docs', 'page', 'Any page', { kind: 'template', uri: 'docs://pages/{number}' }),
  ])
  const first = (query: string) => items.search(query, { limit: 1 }).hits[0]?.document
  assert.deepEqual(['onboarding', 'guide prompt', 'page number'].map(first), [0, 1, 2])
})

test('an exact name or path is first, with full relevance and marked as exact, in every spelling', () => {
  const queries = [
    'tracker:create_issue',
    'tracker__create_issue',
    'tracker create_issue',
    'Tracker createIssue',
    'please call `tracker:create_issue`',
  ]
  for (const query of queries) {
    const hit = index.search(query, { limit: 1 }).hits[0]
    assert.deepEqual(hit, { document: 4, relevance: 1, weak: false, exact: true }, query)
  }
  assert.deepEqual(paths(index, 'create_issue').slice(0, 2), ['forge:create_issue', 'tracker:create_issue'])
  assert.equal(paths(index, 'constructor')[0], 'odd:constructor')
})

test('hidden tools are neither found nor counted, not even by their exact name', () => {
  const visible = (document: number) => documents[document]?.server !== 'forge'
  for (const query of ['create issue', 'forge:create_issue', 'merge a pull request']) {
    const answer = index.search(query, { limit: 10, visible })
    assert.ok(
      answer.hits.every(hit => visible(hit.document)),
      query,
    )
    assert.equal(answer.total, answer.hits.length)
  }
})

test('an empty query, and one that matches no word, find nothing', () => {
  for (const query of ['', '   ', '!?', 'zzzzqqqq'])
    assert.deepEqual(index.search(query, { limit: 5 }), { hits: [], total: 0 })
  assert.deepEqual(build([]).search('anything', { limit: 5 }), { hits: [], total: 0 })
  assert.equal(index.search('issue', { limit: 0 }).hits.length, 0)
})

test('an index built from a previous one gives the same answers, and reads only what changed', () => {
  const changed = documents.map((document, at) =>
    at === 5 ? tool('files', 'erase', 'Wipe a disk') : { ...document },
  )
  const fresh = build(changed)
  const rebuilt = build(changed, index)
  for (const query of ['issue', 'wipe', 'delete file', 'read file', 'forge'])
    assert.deepEqual(rebuilt.search(query, { limit: 10 }), fresh.search(query, { limit: 10 }), query)
  const kept = rebuilt.reusable.terms.filter((terms, at) => terms === index.reusable.terms[at])
  assert.equal(kept.length, documents.length - 1)
  // Reading the vectors of kinds of tools again would block the first search after every change.
  assert.equal(rebuilt.reusable.nearKinds, index.reusable.nearKinds)
})

test('a build can be interrupted after every step and gives the same index', async () => {
  let pauses = 0
  const sliced = await runSliced(buildIndex(documents), () => {
    pauses++
    return Promise.resolve()
  })
  assert.ok(pauses > documents.length)
  assert.deepEqual(sliced.search('issue', { limit: 5 }), index.search('issue', { limit: 5 }))
})

test('the text of a query that is encoded and cached does not keep the long query that it was cut from', () => {
  const texts: string[] = []
  const grown = grownBytes(() => {
    for (let at = 0; at < 20; at++) texts.push(index.queryText(longText(at)))
  })
  assert.ok(grown < 2e6, `${grown} bytes`)
  assert.match(texts[0] ?? '', /^0 é long text /)
})

function tool(
  server: string,
  name: string,
  description: string,
  more: Partial<SearchDocument> = {},
): SearchDocument {
  return { server, tool: name, description, keywords: [], ...more }
}

function build(content: readonly SearchDocument[], previous?: LexicalIndex): LexicalIndex {
  const steps = buildIndex(content, previous)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

function paths(from: SearchIndex, query: string): string[] {
  return from
    .search(query, { limit: 10 })
    .hits.map(hit => from.documents[hit.document])
    .map(document => `${document?.server}:${document?.tool}`)
}
