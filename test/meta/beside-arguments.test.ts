/** Fields beside the arguments of execute_mcp_tool: taken as arguments if the tool has them, otherwise a note says what is not sent. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { createFixture } from './fixture.ts'

const properties: JsonObject = {
  id: { type: 'integer' },
  force: { type: 'boolean' },
  page_size: { type: 'integer' },
  tags: { type: 'array' },
  serverName: { type: 'string' },
}
const SERVERS = {
  shop: {
    server: { title: 'Corner Shop' },
    offers: { tools: [{ name: 'act', inputSchema: { type: 'object', properties } }] },
  },
}

/** What was sent, and the notes on the result. */
async function execute(call: JsonObject): Promise<[JsonObject, string[]]> {
  const fixture = createFixture(SERVERS)
  const { content } = await fixture.call('execute_mcp_tool', { tool_path: 'shop:act', ...call })
  const notes = content.slice(1).map(({ text }) => text)
  return [fixture.sent[0]?.call.params?.arguments as JsonObject, notes]
}

test('fields in another spelling than the tool has are taken, and the others are named', async () => {
  const [sent, notes] = await execute({ arguments: { id: 1 }, Force: false, pageSize: 5, dry_run: true })
  assert.deepEqual(sent, { id: 1, force: false, page_size: 5 })
  assert.match(notes[0] ?? '', /were sent beside the name/)
  assert.match(notes[1] ?? '', /beside the arguments, and so not sent to the tool: "dry_run"\. /)
  assert.match(notes[2] ?? '', /corrected: Force became force; pageSize became page_size/)
  assert.equal(notes.length, 3)
})

test('a field with another value than the argument of its name is named; one with the same value is not', async () => {
  const args = { id: 1, force: true, tags: [{ a: 1, b: 2 }] }
  const [sent, notes] = await execute({ arguments: args, id: 2, Force: false, tags: [{ b: 2, a: 1 }] })
  assert.deepEqual(sent, args)
  assert.equal(notes.length, 1)
  assert.match(notes[0] ?? '', /: "id", "Force"\. /)
  const [, same] = await execute({ arguments: args, id: 1, Force: true, reason: 'to see' })
  assert.deepEqual(same, [])
})

test('a field beside a whole call within the arguments is read as if it were beside its arguments', async () => {
  const inner = { tool_path: 'shop:act', arguments: { id: 1 } }
  const [sent, notes] = await execute({ tool_path: undefined, arguments: inner, force: true, dry_run: true })
  assert.deepEqual(sent, { id: 1, force: true })
  assert.match(notes.join('\n'), /: "dry_run"\. /)
})

test('a server that is not that of the tool gets a note', async () => {
  for (const server of ['shop', 'Shop', 'Corner shop', 'corner-shop']) {
    const [, notes] = await execute({ arguments: { id: 1 }, server })
    assert.deepEqual(notes, [], server)
  }
  for (const field of ['server', 'server_name', 'serverId']) {
    const [, notes] = await execute({ arguments: { id: 1 }, [field]: 'forge' })
    assert.deepEqual(notes, ['Note: the call named server "forge", but the tool is of shop.'], field)
  }
})

test("a server field that is an argument of the tool is not taken as the tool's server", async () => {
  const args = { id: 1, serverName: 'db1' }
  assert.deepEqual(await execute({ arguments: args, serverName: 'db1' }), [args, []])
  const [sent, notes] = await execute({ arguments: { id: 1 }, serverName: 'db1' })
  assert.deepEqual(sent, args)
  assert.equal(notes.length, 1)
})

test('of two spellings of a field, the one that the tool has is taken, and the other is named if its value differs', async () => {
  const [sent, notes] = await execute({ arguments: { id: 1 }, pageSize: 6, page_size: 5 })
  assert.deepEqual(sent, { id: 1, page_size: 5 })
  assert.match(notes.join('\n'), /not sent to the tool: "pageSize"\. /)
  const [same, notesOnSame] = await execute({ arguments: { id: 1 }, pageSize: 5, PageSize: 5 })
  assert.deepEqual(same, { id: 1, page_size: 5 })
  assert.doesNotMatch(notesOnSame.join('\n'), /not sent/)
})

test('a path that is repeated in another field is not named', async () => {
  for (const field of ['toolPath', 'prompt_path', 'tool_name'])
    assert.deepEqual(await execute({ arguments: { id: 1 }, [field]: 'shop:act' }), [{ id: 1 }, []], field)
})

test('a call with more than 1,000 fields beside the arguments is refused; the arguments may have more', async () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]))
  const inner = { tool_path: 'shop:act', ...many(1_500) }
  for (const [profile, tool, call] of [
    ['hierarchical', 'execute_mcp_tool', { tool_path: 'shop:act', ...many(1_500) }],
    ['hierarchical', 'execute_mcp_tool', { arguments: inner }],
    ['search', 'mcp_execute_tool', { toolName: 'shop:act', ...many(1_500) }],
    ['registry', 'execute', { tool: 'shop:act', ...many(1_500) }],
  ] as const) {
    const fixture = createFixture(SERVERS, { allowedProfiles: ['search', 'registry'] })
    const { isError, content } = await fixture.call(tool, call, { route: { kind: 'gateway', profile } })
    assert.ok(isError)
    assert.match(content[0]?.text ?? '', /more than 1000 fields beside the arguments/)
    assert.deepEqual(fixture.sent, [])
  }
  const [sent] = await execute({ arguments: many(1_500), force: true })
  assert.equal(Object.keys(sent).length, 1_501)
  const [few] = await execute({ arguments: { id: 1 }, ...many(900), force: true })
  assert.deepEqual(few, { id: 1, force: true })
})
