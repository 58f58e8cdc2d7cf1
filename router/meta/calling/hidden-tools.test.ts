/** The hint for a tool that its server does not offer to every client. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hiddenFor } from './hidden-tools.ts'

const denied = (text: string) => ({ result: { content: [{ type: 'text', text }], isError: true } })

test('if a server refuses a tool to a client without capabilities, the error has a hint', () => {
  for (const text of [
    'MCP error -32602: Tool ask not found',
    'Unknown tool: ask',
    'Tool "ask" is disabled',
  ]) {
    assert.deepEqual(hiddenFor(denied(text)), ['elicitation', 'sampling', 'roots'], text)
    assert.deepEqual(hiddenFor({ error: { code: -32602, message: text } }, { roots: {}, sampling: {} }), [
      'elicitation',
    ])
  }
})

test('clients with all capabilities, other errors, and successful results get no such hint', () => {
  const all = { elicitation: {}, sampling: {}, roots: {} }
  assert.deepEqual(hiddenFor(denied('Unknown tool: ask'), all), [])
  for (const text of ['The tool failed: file not found', `Tool ${'x'.repeat(400)} not found`, ''])
    assert.deepEqual(hiddenFor(denied(text)), [], text)
  assert.deepEqual(hiddenFor({ result: { content: [{ type: 'text', text: 'Tool ask not found' }] } }), [])
  assert.deepEqual(hiddenFor({ result: { isError: true, content: 'odd' } }), [])
})
