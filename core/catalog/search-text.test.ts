/** Tests of the texts that are encoded: what they are made of, and when their keys change. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { itemSearchText, type ServerKnowledge, searchTexts, toolSearchText } from './search-text.ts'
import type { ServerCatalog, ToolDefinition } from './server-catalog.ts'

const server: ServerKnowledge = {
  name: 'slack-bot',
  title: 'Slack',
  description: 'Reads and writes the chat of the office',
  category: 'chat',
  keywords: ['im'],
  tools: { allow: ['*'], deny: ['delete_*'], overrides: { post_message: { keywords: ['shout'] } } },
}
const tool: ToolDefinition = { name: 'post_message', description: 'Post a message', inputSchema: {} }
const catalog = {
  instructions: 'Use it politely.',
  tools: [tool, { ...tool, name: 'delete_channel' }].map(definition => ({ definition })),
  resources: [{ uri: 'slack://emoji.json', name: 'emoji' }],
  resourceTemplates: [{ uriTemplate: 'slack://{channel}/{day}', name: 'transcript', title: 'Transcript' }],
  prompts: [{ name: 'standup', description: 'Asks what was done' }],
} as unknown as ServerCatalog

test("the text of a tool has its server and its purpose, its name and description, and the manifest's keywords", () => {
  const { full, name } = toolSearchText(server, catalog, tool)
  assert.equal(full, 'slack bot (chat team message channel workplace): post message. Post a message')
  assert.equal(name, 'slack bot post message shout Reads and writes the chat of the office chat im')
})

test("the upstream's instructions stand in for a missing description", () => {
  const { name } = toolSearchText({ ...server, description: undefined }, catalog, { ...tool, name: 'ping' })
  assert.equal(name, 'slack bot ping Use it politely. chat im')
})

test('an override is used, whether it was applied before or not', () => {
  const overrides = { post_message: { description: 'Shout' } }
  const overridden = { ...server, tools: { ...server.tools, overrides } }
  const text = toolSearchText(overridden, catalog, tool)
  assert.match(text.full, /: post message\. Shout$/)
  assert.deepEqual(toolSearchText(overridden, catalog, { ...tool, description: 'Shout' }), text)
})

test('the text of resources and templates has their URI; a title that repeats the name is left out', () => {
  const [emoji] = catalog.resources
  assert.match(itemSearchText(server, catalog, emoji ?? {}).full, /: emoji slack json\. $/)
  const [transcript] = catalog.resourceTemplates
  assert.match(itemSearchText(server, catalog, transcript ?? {}).full, /: transcript slack channel day\. $/)
  assert.match(itemSearchText(server, catalog, { name: 3 }).full, /: \. $/)
})

test('everything that is offered has one text, and tools that are denied have none', () => {
  const texts = searchTexts(server, { ...catalog, prompts: [...catalog.prompts, ...catalog.prompts] })
  assert.equal(texts.length, 4)
  assert.equal(new Set(texts.map(text => text.key)).size, 4)
  assert.ok(!texts.some(text => text.full.includes('delete')))
})

test('equal texts have equal keys, different texts different ones', () => {
  const key = (knowledge: ServerKnowledge) => toolSearchText(knowledge, catalog, tool).key
  assert.equal(key({ ...server }), key(server))
  assert.notEqual(key({ ...server, title: 'Office' }), key(server))
  assert.notEqual(key({ ...server, category: 'talk' }), key(server))
})
