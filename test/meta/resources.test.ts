/** What list_mcp_resources and read_mcp_resource answer, field by field. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { createFixture, type Fixture, golden } from './fixture.ts'
import { forge, SERVERS, wiki } from './servers.ts'

type Listed = {
  resources: JsonObject[]
  resource_templates: JsonObject[]
  total_resources: number
  total_templates: number
  nextCursor?: string
  more?: string
}

test('a list has the documented fields, URIs with their server in front, and totals', async t => {
  const fixture = createFixture(SERVERS)
  const listed = await list(fixture, {})
  t.assert.fileSnapshot(JSON.stringify(listed, null, 2), golden('resources.json'), {
    serializers: [String],
  })
  assert.deepEqual(Object.keys(listed), [
    'resources',
    'resource_templates',
    'total_resources',
    'total_templates',
  ])
  assert.deepEqual(
    listed.resources.map(({ uri }) => uri),
    ['forge|file:///readme.md', 'ui://forge/board/main', 'wiki|wiki://home'],
  )
  assert.deepEqual(
    listed.resource_templates.map(({ uriTemplate }) => uriTemplate),
    ['forge|file:///{path}'],
  )
  assert.ok((fixture.seen.served.resources ?? 0) > 50)
})

test('query and server narrow the list, the totals count everything visible', async () => {
  const fixture = createFixture(SERVERS)
  const byQuery = await list(fixture, { query: 'READ begin' })
  assert.deepEqual(
    byQuery.resources.map(({ name }) => name),
    ['readme'],
  )
  assert.deepEqual([byQuery.resource_templates, byQuery.total_resources, byQuery.total_templates], [[], 3, 1])
  const byServer = await list(fixture, { server: 'wiki' })
  assert.deepEqual(
    byServer.resources.map(({ server }) => server),
    ['wiki'],
  )
  assert.equal(byServer.total_resources, 3)
  const unknown = await fixture.call('list_mcp_resources', { server: 'wikki' })
  assert.equal(unknown.isError, true)
  assert.match(unknown.content[0]?.text ?? '', /no server "wikki"\. The nearest: wiki\.$/)
  for (const wrong of [{ query: 5 }, { server: ['wiki'] }, { cursor: {} }]) {
    const { content, isError } = await fixture.call('list_mcp_resources', wrong)
    assert.equal(isError, true)
    assert.equal(content[0]?.text, `${Object.keys(wrong)[0]} is no text: give a string.`)
  }
  assert.equal((await list(fixture, { query: null, server: null })).resources.length, 3)
})

test('if no resource fits a query, the answer says so', async () => {
  const fixture = createFixture(SERVERS)
  const { resources, resource_templates, more } = await list(fixture, { query: 'zzqqxx' })
  assert.deepEqual([resources, resource_templates], [[], []])
  assert.match(more ?? '', /^Probably nothing here fits/)
  assert.equal((await list(fixture, { query: 'READ begin' })).more, undefined)
})

test('pages stay within the budget, contain everything once, and survive a change in between', async () => {
  const resources = Array.from({ length: 200 }, (_, i) => ({
    uri: `file:///${i}`,
    name: `file ${i}`,
    description: 'One of many files',
  }))
  const fixture = createFixture({ ...SERVERS, many: { offers: { resources } } })
  const seen: unknown[] = []
  let cursor: string | undefined
  let pages = 0
  do {
    const page: Listed = await list(fixture, cursor === undefined ? {} : { cursor })
    seen.push(
      ...page.resources.map(({ uri }) => uri),
      ...page.resource_templates.map(({ uriTemplate }) => uriTemplate),
    )
    cursor = page.nextCursor
    pages++
    if (pages === 1) fixture.reload({ wiki, many: { offers: { resources } } }) // forge is listed already
  } while (cursor !== undefined)
  assert.equal(seen.length, 1 + 200 + 1)
  assert.equal(new Set(seen).size, seen.length)
  assert.ok(pages > 4 && (fixture.seen.served.resources ?? 0) < pages * 1_300, `${pages} pages`)
  assert.match(
    (await fixture.call('list_mcp_resources', { cursor: 'made up' })).content[0]?.text ?? '',
    /cursor is not valid/,
  )
  const { nextCursor } = await list(fixture, {})
  assert.match(
    (await fixture.call('list_mcp_resources', { query: 'page', cursor: nextCursor })).content[0]?.text ?? '',
    /cursor is not valid here/,
  )
})

test('resources of hidden servers are neither listed nor counted nor read', async () => {
  const fixture = createFixture({
    ...SERVERS,
    forge: { ...forge, server: { status: { state: 'authRequired', hidden: true } } },
  })
  const listed = await list(fixture, {})
  assert.deepEqual([listed.resources.length, listed.total_resources, listed.total_templates], [1, 1, 0])
  const read = await fixture.call('read_mcp_resource', { uri: 'forge|file:///readme.md' })
  assert.match(read.content[0]?.text ?? '', /"forge" needs credentials/)
  assert.deepEqual(fixture.sent, [])
})

test('text is read as text, binary as an embedded resource, with _meta on both', async () => {
  const contents = [
    { uri: 'file:///readme.md', mimeType: 'text/markdown', text: 'Hello', _meta: { a: 1 } },
    { uri: 'file:///logo.png', mimeType: 'image/png', blob: 'AAAA', _meta: { b: 2 }, size: 3 },
    { uri: 'file:///plain', text: '' },
  ]
  const fixture = createFixture({
    forge: { ...forge, answer: () => ({ result: { contents, _meta: { c: 3 } } }) },
  })
  assert.deepEqual(await fixture.call('read_mcp_resource', { uri: 'forge|file:///readme.md' }), {
    content: [
      { type: 'text', text: 'Hello', _meta: { a: 1 } },
      {
        type: 'resource',
        resource: {
          uri: 'forge+file:///logo.png',
          mimeType: 'image/png',
          blob: 'AAAA',
          _meta: { b: 2 },
          size: 3,
        },
      },
      { type: 'text', text: '' },
    ],
    _meta: { c: 3 },
  })
  assert.equal(fixture.seen.calls[0]?.method, 'resources/read')
})

test('every form of a URI is accepted, templates are passed on, nothing is cached', async () => {
  const fixture = createFixture(SERVERS)
  const uris = [
    'forge|file:///readme.md',
    'forge+file:///readme.md',
    'file:///readme.md',
    'ui://forge/board/main',
    'forge|ui://board/main',
    'forge+file:///src/any/path.ts',
    'forge|file:///readme.md',
  ]
  for (const uri of uris) await fixture.call('read_mcp_resource', { uri })
  assert.deepEqual(
    fixture.sent.map(({ server, call }) => `${server} ${call.method} ${call.params?.uri}`),
    [
      'forge resources/read file:///readme.md',
      'forge resources/read file:///readme.md',
      'forge resources/read file:///readme.md',
      'forge resources/read ui://board/main',
      'forge resources/read ui://board/main',
      'forge resources/read file:///src/any/path.ts',
      'forge resources/read file:///readme.md',
    ],
  )
})

test('the error for a resource that cannot be read says why', async () => {
  const rejecting = { ...forge, answer: () => ({ error: { code: -32002, message: 'Resource not found' } }) }
  const text = async (uri: string, server = forge as object) => {
    const answer = await createFixture({ ...SERVERS, forge: server }).call('read_mcp_resource', { uri })
    assert.equal(answer.isError, true)
    return answer.content[0]?.text ?? ''
  }
  assert.match(
    await text('nobody|file:///readme.md'),
    /no resource .*The nearest: forge\|file:\/\/\/readme\.md/,
  )
  assert.match(await text(''), /uri is missing/)
  assert.equal(
    await text('forge|file:///x', rejecting),
    'Server "forge" refused "forge|file:///x" (-32002): Resource not found',
  )
  const dying = {
    ...forge,
    answer: () => {
      throw new Fault('upstream_died', 'x')
    },
  }
  assert.match(await text('forge|file:///x', dying), /ended during the call/)
})

test('a URI that several servers list is refused with the full URIs', async () => {
  const same = { offers: { resources: [{ uri: 'memo://1', name: 'memo' }] } }
  const answer = await createFixture({ a: same, b: same }).call('read_mcp_resource', { uri: 'memo://1' })
  assert.match(answer.content[0]?.text ?? '', /The nearest: a\|memo:\/\/1, b\|memo:\/\/1/)
})

async function list(fixture: Fixture, args: JsonObject): Promise<Listed> {
  const answer = await fixture.call('list_mcp_resources', args)
  assert.equal(answer.isError, undefined, answer.content[0]?.text)
  return JSON.parse(answer.content[0]?.text ?? '')
}
