/** Tests of the documents that the search is made of. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import type { ServerCatalog } from '../../../core/catalog/server-catalog.ts'
import { itemDocument, toolDocument } from './documents.ts'

const overrides = { list: { category: 'reading', keywords: ['enumerate'] } }
const server = {
  name: 'wiki',
  title: 'Wiki',
  category: 'docs',
  keywords: ['notes'],
  tools: { allow: ['*'], deny: [], overrides },
} as unknown as RouterServer
const catalog = { serverInfo: { name: 'wiki-mcp' }, instructions: 'Be kind.' } as unknown as ServerCatalog
const ofServer = {
  server: 'wiki',
  serverTitle: 'Wiki',
  serverDescription: undefined,
  serverKeywords: ['docs', 'notes'],
  upstreamTitle: 'wiki-mcp',
  instructions: 'Be kind.',
}

test('the document of a tool has the texts of its server and of the manifest', () => {
  const definition = { name: 'list', title: 'All', description: 'Lists', inputSchema: {} }
  assert.deepEqual(toolDocument(server, catalog, definition), {
    ...ofServer,
    tool: 'list',
    title: 'All',
    description: 'Lists',
    inputSchema: {},
    keywords: ['reading', 'enumerate'],
  })
  assert.deepEqual(toolDocument(server, catalog, { ...definition, name: 'constructor' }).keywords, [])
})

test('the document of a resource has its URI, that of a prompt its arguments; what is not text is ignored', () => {
  const resource = itemDocument(server, catalog, 'resource', { uri: 'a://b', name: 'b', title: 7 })
  assert.deepEqual(
    [resource.uri, resource.tool, resource.title, resource.kind],
    ['a://b', 'b', undefined, 'resource'],
  )
  const template = itemDocument(server, catalog, 'template', { uriTemplate: 'a://{b}' })
  assert.deepEqual([template.uri, template.tool], ['a://{b}', ''])
  const args = [{ name: 'day', description: 'Which' }, { name: 3 }, null, 'x']
  const prompt = itemDocument(server, catalog, 'prompt', { name: 'ask', arguments: args })
  assert.deepEqual(prompt.inputSchema?.properties, { day: { description: 'Which' } })
})
