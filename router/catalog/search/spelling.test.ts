/** Tests of which words of a query are taken for misspelt ones, and of what a search then says of absent products. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildIndexAtOnce } from '../../../test/search/build-at-once.ts'
import type { SearchDocument } from './search-index.ts'

const describe = (server: string, tool: string, description: string): SearchDocument => ({
  server,
  tool,
  description,
  keywords: [],
})
const index = buildIndexAtOnce([
  describe('slack', 'slack_post_message', 'Post a message to a channel'),
  describe('git', 'git_restore', 'Discard changes of files, and strip whitespace'),
  describe('accounts', 'list_users', 'List the users, bring them in an easy order, skip some'),
  describe('github', 'create_issue', 'Create an issue'),
  describe('postgres', 'query', 'Run a query'),
  describe('chroma', 'query_collection', 'Query a collection'),
  describe('influx', 'query_points', 'Query points in time'),
])
const search = (query: string) => index.search(query, { limit: 1 })

test('a well-known product is not taken for a misspelt word of other tools, and is said to be absent', () => {
  for (const name of ['discord', 'uber', 'stripe', 'skype', 'etsy', 'bing']) {
    const query = `${name} post message`
    assert.deepEqual(search(query).absent, [name])
    assert.equal(index.queryText(query), query)
    assert.equal(index.queryText(`${name} user`), `${name} user`)
  }
})

test('misspelt and abbreviated names of products that are there are corrected', () => {
  for (const [query, server] of [
    ['gihub create', 'github'],
    ['gthub create', 'github'],
    ['postgresql query', 'postgres'],
    ['postgrs query', 'postgres'],
    ['chromadb query', 'chroma'],
    ['influxdb query', 'influx'],
  ]) {
    const { hits, absent } = search(query as string)
    assert.equal(index.documents[hits[0]?.document ?? -1]?.server, server, query)
    assert.equal(absent, undefined, query)
  }
})
