/** Tests that a query that asks to read finds tools that read before those that change something. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildIndexAtOnce } from '../../../test/search/build-at-once.ts'
import type { SearchDocument } from './search-index.ts'

const describe = (tool: string, description: string): SearchDocument => ({
  server: 'forge',
  tool,
  description,
  keywords: [],
})
const index = buildIndexAtOnce([
  describe('merge_merge_request', 'Merge a merge request of a branch'),
  describe('get_merge_request', 'Get details, including who may close it and the files that it has'),
  describe('delete_label', 'Delete a label'),
  describe('get_label', 'Get a label, or all labels of a project and of the groups above it'),
  describe('export_bugs', 'Export bugs'),
  describe('create_bug', 'Create a bug of the product'),
])
const chat = buildIndexAtOnce([
  describe('post_message', 'Post a message'),
  describe('get_channel_history', 'Get what was said in a channel'),
  describe('update_full_workflow', 'Update a full workflow'),
  describe('get_workflow', 'Get a workflow by its id, with all its nodes, or only its structure'),
  describe('get_label', 'Get a label'),
  describe('get_user', 'Get a user'),
  describe('get_file', 'Get a file'),
])
const firstIn = ({ search, documents }: typeof index, query: string) =>
  documents[search(query, { limit: 1 }).hits[0]?.document ?? -1]?.tool
const first = (query: string) => firstIn(index, query)

test('after a product, a reading verb ranks tools that read first', () => {
  assert.equal(first('forge get merge request by branch'), 'get_merge_request')
  assert.equal(first('forge show merge request of branch'), 'get_merge_request')
  assert.equal(first('forge get label'), 'get_label')
})

test('the object of a reading verb may be a word that is also a verb of change', () => {
  assert.equal(firstIn(chat, 'forge get message'), 'get_channel_history')
  assert.equal(firstIn(chat, 'view message in forge'), 'get_channel_history')
  assert.equal(firstIn(chat, 'forge post message'), 'post_message')
  assert.equal(firstIn(chat, 'forge get full workflow'), 'get_workflow')
  assert.equal(firstIn(chat, 'forge update full workflow'), 'update_full_workflow')
})

test('a query that names a change finds it first, whatever else it says', () => {
  assert.equal(first('forge merge merge request by branch'), 'merge_merge_request')
  assert.equal(first('forge find and delete label'), 'delete_label')
})

test('a reading verb late in a query is ignored, because it is often a noun', () => {
  const { hits } = index.explain('file a bug about the product: the export fails', { limit: 6 })
  assert.equal(hits.find(({ tool }) => tool === 'create_bug')?.actionFactor, 1)
})
