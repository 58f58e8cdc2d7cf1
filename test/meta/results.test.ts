/** Results that are too large: what is cut, how the rest is asked for, and what is never cut. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Profile } from '../../core/catalog/router-config.ts'
import type { JsonObject } from '../../core/json.ts'
import { createManualClock, type ManualClock } from '../support/manual-clock.ts'
import { createFixture, type Fixture, type FixtureServer, serverOf, type ToolResult } from './fixture.ts'
import { forge, ISSUE } from './servers.ts'

const HANDLE = /portolan[|+]result\/local\/[\w-]{24}\?from=\d+/
const LIMIT = 1_000
const ROWS = JSON.stringify(
  Array.from({ length: 200 }, (_, at) => ({ id: at, name: `Zoë 😀 ${at}`, done: at % 2 === 0 })),
)

/** How each profile asks for the next part. */
const ASKING: Record<Exclude<Profile, 'direct' | 'code'>, (handle: string) => [string, JsonObject]> = {
  hierarchical: uri => ['read_mcp_resource', { uri }],
  search: toolName => ['mcp_execute_tool', { toolName }],
  registry: tool => ['execute', { tool }],
}

test('the parts of a cut text join to the original, byte for byte, in the words of each profile', async () => {
  for (const profile of ['hierarchical', 'search', 'registry'] as const) {
    const fixture = withResult({ content: [{ type: 'text', text: ROWS }] })
    const route = { kind: 'gateway', profile } as const
    let answer = await fixture.call('forge:create_issue', ISSUE.arguments, { route })
    const parts = [answer.content[0]?.text ?? '']
    for (let next = noteOf(answer); next !== undefined; next = noteOf(answer)) {
      const [name, args] = ASKING[profile](HANDLE.exec(next)?.[0] ?? assert.fail(next))
      assert.ok(next.includes(name), next)
      answer = await fixture.call(name, args, { route })
      parts.push(answer.content[0]?.text ?? '')
    }
    assert.equal(parts.join(''), ROWS)
    assert.ok(parts.length > 5 && parts.every(part => Buffer.byteLength(part) <= LIMIT))
    assert.ok(
      parts.slice(0, -1).every(part => part.endsWith('},')),
      'cut between rows',
    )
    assert.equal(fixture.sent.length, 1, 'the server was called once')
  }
})

test('execute_mcp_tool accepts both forms of a handle, and a part can be read again', async () => {
  const fixture = withResult({ content: [{ type: 'text', text: ROWS }] })
  const handle = await cutHandle(fixture)
  const first = await fixture.call('execute_mcp_tool', { tool_path: handle })
  assert.deepEqual(await fixture.call('execute_mcp_tool', { tool_path: handle, arguments: {} }), first)
  assert.deepEqual(await fixture.call('read_mcp_resource', { uri: handle.replace('|', '+') }), first)
  const whole = await fixture.call('read_mcp_resource', { uri: handle.replace(/\?.*/, '') })
  assert.equal(whole.content[0]?.text, ROWS.slice(0, whole.content[0]?.text.length))
})

test('resources/read gives the parts under their URI, and says in _meta what comes next', async () => {
  const fixture = withResult({ content: [{ type: 'text', text: ROWS }] })
  let uri: unknown = (await cutHandle(fixture)).replace('|', '+')
  const parts: string[] = []
  while (typeof uri === 'string') {
    const { result } = await fixture.request('resources/read', { uri })
    const [content] = (result?.contents ?? []) as { uri: string; text: string; _meta: JsonObject }[]
    assert.equal(content?.uri, uri)
    assert.equal(content._meta['portolan.dev/bytes'], Buffer.byteLength(ROWS))
    parts.push(content.text)
    uri = content._meta['portolan.dev/next']
  }
  assert.ok(ROWS.endsWith(parts.join('')) && parts.join('').length > ROWS.length - LIMIT)
  const gone = await fixture.request('resources/read', {
    uri: 'portolan+result/local/aaaaaaaaaaaaaaaaaaaaaaaa',
  })
  assert.match(gone.error?.message ?? '', /no longer kept/)
})

test('of several texts the first that does not fit is cut, and the following parts contain the others', async () => {
  const texts = ['a'.repeat(600), 'b'.repeat(600), 'c'.repeat(600)]
  const image = { type: 'image', data: 'A'.repeat(9_000), mimeType: 'image/png' }
  const content = [...texts.map(text => ({ type: 'text', text })), image]
  const fixture = withResult({ content, structuredContent: { all: texts } })
  const cut = await fixture.call('execute_mcp_tool', ISSUE)
  assert.deepEqual(
    cut.content.slice(0, 3).map(({ text }) => text),
    [texts[0], 'b'.repeat(400), ''],
  )
  assert.deepEqual([cut.content[3], cut.structuredContent], [image, { all: texts }])
  const rest = await fixture.call('read_mcp_resource', { uri: HANDLE.exec(noteOf(cut) ?? '')?.[0] ?? '' })
  assert.equal(rest.content[0]?.text, `${'b'.repeat(200)}\n${'c'.repeat(600)}`)
})

test('pages of apps, native reads and embedded resources are never cut', async () => {
  const contents = [{ uri: 'x', text: ROWS }]
  const fixture = withResult({
    contents,
    content: [{ type: 'resource', resource: { uri: 'a:b', text: ROWS } }],
  })
  const page = await fixture.call('read_mcp_resource', { uri: 'ui://forge/board/main' })
  assert.equal(page.content[0]?.text, ROWS)
  const native = await fixture.request('resources/read', { uri: 'forge+file:///readme.md' })
  assert.equal((native.result?.contents as { text: string }[])[0]?.text, ROWS)
  const embedded = await fixture.call('execute_mcp_tool', ISSUE)
  assert.equal((embedded.content[0]?.resource as { text: string }).text, ROWS)
  const text = await fixture.call('read_mcp_resource', { uri: 'forge|file:///readme.md' })
  assert.match(noteOf(text) ?? '', HANDLE)
})

test('a part can be read for ten minutes after the last read; then the answer says what to do', async () => {
  const clock = createManualClock()
  const fixture = withResult({ content: [{ type: 'text', text: ROWS }] }, clock)
  const uri = await cutHandle(fixture)
  for (let reading = 0; reading < 3; reading++) {
    clock.advance(9 * 60_000)
    assert.equal((await fixture.call('read_mcp_resource', { uri })).isError, undefined)
  }
  clock.advance(10 * 60_000)
  const gone = await fixture.call('read_mcp_resource', { uri })
  assert.equal(gone.isError, true)
  assert.match(gone.content[0]?.text ?? '', /no longer kept.*Call the tool again/)
})

test('a forged handle is refused', async () => {
  const fixture = withResult({ content: [{ type: 'text', text: ROWS }] })
  const uri = await cutHandle(fixture)
  const forged = [
    uri.replace('local', '127_0_0_1:1'),
    uri.replace(/.(?=\?)/, last => (last === 'A' ? 'B' : 'A')),
    uri.replace(/from=\d+/, 'from=99999999'),
    'portolan|result/local/',
    'portolan|result/../../etc',
  ]
  for (const wrong of forged) {
    const answer = await fixture.call('read_mcp_resource', { uri: wrong })
    assert.equal(answer.isError, true, wrong)
    assert.match(answer.content[0]?.text ?? '', /no longer kept/)
  }
})

test('if a text is too long to be kept, the answer says how much is lost', async () => {
  const fixture = withResult({ content: [{ type: 'text', text: 'x'.repeat(33 * 2 ** 20) }] })
  const { content } = await fixture.call('execute_mcp_tool', ISSUE)
  assert.match(content[1]?.text ?? '', /^\[Cut after 1000 of 33554432 bytes/)
  assert.match(content[2]?.text ?? '', /^\[Cut: 1048576 more bytes .*Ask for less/)
})

function withResult(result: JsonObject, clock?: ManualClock): Fixture {
  const limits = { ...serverOf('forge').limits, maxResultBytes: LIMIT }
  const server: FixtureServer = { ...forge, server: { limits }, answer: () => ({ result }) }
  return createFixture({ forge: server }, { allowedProfiles: ['search', 'registry'] }, clock)
}

/** The note under a text that was cut. */
function noteOf({ content }: ToolResult): string | undefined {
  return content.find(({ text = '' }) => text.startsWith('[Cut'))?.text
}

async function cutHandle(fixture: Fixture): Promise<string> {
  const note = noteOf(await fixture.call('execute_mcp_tool', ISSUE)) ?? ''
  return HANDLE.exec(note)?.[0] ?? assert.fail(note)
}
