/** URIs in answers, rewritten for gateway routes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exposeItem, exposePromptResult, exposeReadResult, exposeToolResult } from './expose.ts'

test('a result without URIs to rewrite is returned itself, not a copy', () => {
  const results = [
    {},
    { content: [] },
    {
      content: [
        { type: 'text', text: 'file:///a' },
        { type: 'image', data: '', mimeType: 'image/png' },
      ],
      isError: true,
    },
    {
      content: 'odd',
      structuredContent: { uri: 'file:///a', _meta: { ui: { resourceUri: 'ui://a' } } },
      _meta: { other: 1 },
    },
    { content: [null, 1, 'x', { type: 'resource' }], _meta: null },
  ]
  for (const result of results) {
    assert.equal(exposeToolResult('s', result), result)
    assert.equal(exposePromptResult('s', result), result)
  }
})

test('links, embedded resources and ui.resourceUri are rewritten, everything else is kept, and the input is not modified', () => {
  const result = {
    content: [
      { type: 'text', text: 'hi', _meta: { ui: { resourceUri: 'ui://w/1', prefersBorder: true } } },
      { type: 'resource_link', uri: 'file:///a', name: 'a', 'x-own': { uri: 'file:///kept' } },
      {
        type: 'resource',
        resource: { uri: 'ui://w/2', text: 'x', _meta: { keep: 1 } },
        annotations: { priority: 1 },
      },
    ],
    structuredContent: { uri: 'file:///kept' },
    _meta: { 'ui/resourceUri': 'ui://w/3', trace: 't' },
  }
  const before = structuredClone(result)
  assert.deepEqual(exposeToolResult('s', result), {
    content: [
      { type: 'text', text: 'hi', _meta: { ui: { resourceUri: 'ui://s/w/1', prefersBorder: true } } },
      { type: 'resource_link', uri: 's+file:///a', name: 'a', 'x-own': { uri: 'file:///kept' } },
      {
        type: 'resource',
        resource: { uri: 'ui://s/w/2', text: 'x', _meta: { keep: 1 } },
        annotations: { priority: 1 },
      },
    ],
    structuredContent: { uri: 'file:///kept' },
    _meta: { 'ui/resourceUri': 'ui://s/w/3', trace: 't' },
  })
  assert.deepEqual(result, before)
})

test('contents of a read resource and messages of a prompt are rewritten too', () => {
  assert.deepEqual(exposeReadResult('s', { contents: [{ uri: 'db://t', blob: 'AA==' }] }), {
    contents: [{ uri: 's+db://t', blob: 'AA==' }],
  })
  const message = (uri: string) => ({
    role: 'user',
    content: { type: 'resource', resource: { uri, text: 'x' } },
  })
  assert.deepEqual(exposePromptResult('s', { messages: [message('file:///a')] }), {
    messages: [message('s+file:///a')],
  })
})

test('items of lists: URIs, templates and the user interface of a tool are rewritten', () => {
  assert.deepEqual(exposeItem('s', { uriTemplate: 'db://{table}', name: 'rows' }), {
    uriTemplate: 's+db://{table}',
    name: 'rows',
  })
  const tool = (resourceUri: string) => ({ name: 't', _meta: { ui: { resourceUri } } })
  assert.deepEqual(exposeItem('s', tool('ui://a/b')), tool('ui://s/a/b'))
  const plain = { name: 't', _meta: { ui: { visibility: ['app'] } } }
  assert.equal(exposeItem('s', plain), plain)
})
