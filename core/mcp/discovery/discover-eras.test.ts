/** Discovery of the same lists from servers of both eras: the same catalog, except for the protocol and what an era forbids. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAskingModern } from '../../../test/upstreams/http/asking-modern.ts'
import { answer, type Behaviour, raw, startRude } from '../../../test/upstreams/http/rude.ts'
import { systemClock } from '../../async.ts'
import type { ServerCatalog } from '../../catalog/server-catalog.ts'
import type { JsonObject } from '../../json.ts'
import { connectRemote } from '../client/connect.ts'
import type { RemoteSpec } from '../client/http/spec.ts'
import { type Era, META_CLIENT_CAPABILITIES } from '../protocol/revisions.ts'
import { discover } from './discover.ts'

const never = new AbortController().signal
const CAPABILITIES = { tools: {}, resources: {}, prompts: {} }
const TOOL = { name: 'a', description: 'A tool', inputSchema: { type: 'object' } }

type Test = { after(run: () => Promise<unknown>): void }

async function discovered(
  t: Test,
  server: { url: string; close(): Promise<void> },
  sessions: RemoteSpec['sessions'] = 'shared',
) {
  const spec = {
    url: server.url,
    transport: 'streamable-http',
    sessions,
    startTimeoutMs: 5_000,
  } as const
  const upstream = connectRemote(spec, { clock: systemClock })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  const countTokens = async (texts: readonly string[]) => texts.map(({ length }) => length)
  let last: ServerCatalog | undefined
  for await (const catalog of discover(upstream, { server: 'x', clock: systemClock, countTokens }, never))
    last = catalog
  assert.ok(last)
  return last
}

/** A server that lists two pages of tools, and one page of each other list. */
async function startLists(era: Era, tools: readonly unknown[], onDeclared = (_capabilities: unknown) => {}) {
  const cached = era === 'modern' ? { resultType: 'complete', ttlMs: 5_000, cacheScope: 'public' } : {}
  const list = (result: JsonObject) => answer({ ...result, ...cached })
  const paged: Behaviour = (response, message, request) => {
    const meta = (message.params?._meta ?? {}) as JsonObject
    if (era === 'modern') onDeclared(meta[META_CLIENT_CAPABILITIES])
    const second = message.params?.cursor === 'more'
    const page = second ? { tools: tools.slice(1) } : { tools: tools.slice(0, 1), nextCursor: 'more' }
    list(page as JsonObject)(response, message, request)
  }
  return startRude({
    'server/discover':
      era === 'modern'
        ? answer({ supportedVersions: ['2026-07-28'], capabilities: CAPABILITIES, instructions: 'Be kind' })
        : raw(404, 'text/plain', ''),
    initialize: (response, message, request) => {
      if (era === 'modern') return raw(400, 'text/plain', '')(response, message, request)
      onDeclared(message.params?.capabilities)
      const agreed = { protocolVersion: '2025-11-25', capabilities: CAPABILITIES, instructions: 'Be kind' }
      answer(agreed)(response, message, request)
    },
    'tools/list': paged,
    'resources/list': list({ resources: [{ uri: 'a://1', name: 'one' }] }),
    'resources/templates/list': list({ resourceTemplates: [{ uriTemplate: 'a://{b}', name: 'all' }] }),
    'prompts/list': list({ prompts: [{ name: 'p' }, { name: 7 }] }),
  })
}

test('the same lists give the same catalog, except for the protocol', async t => {
  const tools = [TOOL, { ...TOOL, name: 'b', extra: { kept: true } }, { name: '' }]
  const [older, newer] = await Promise.all(
    (['legacy', 'modern'] as const).map(async era => discovered(t, await startLists(era, tools))),
  )
  assert.ok(older && newer)
  assert.equal(older.protocol, '2025-11-25')
  assert.equal(newer.protocol, '2026-07-28')
  assert.equal(newer.tools.length, 2)
  assert.equal(newer.incomplete.length, 1)
  const same = ({ digest: _digest, protocol: _protocol, ...rest }: ServerCatalog) => rest
  assert.deepEqual(same(newer), same(older))
})

test('a tool with an invalid x-mcp-header is left out only in the newer era, which requires the headers', async t => {
  const inputSchema = {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'two words' } },
  }
  const tools = [TOOL, { name: 'marked', inputSchema }]
  const newer = await discovered(t, await startLists('modern', tools))
  assert.deepEqual(newer.invalid, [{ name: 'marked', reason: 'x-mcp-header is not a valid header name' }])
  assert.equal((await discovered(t, await startLists('legacy', tools))).tools.length, 2)
})

test('a server of SDK 2.x that serves only the newer era is discovered', async t => {
  const { protocol, tools, resources, serverInfo } = await discovered(t, await startAskingModern('modern'))
  assert.equal(protocol, '2026-07-28')
  assert.equal(serverInfo?.name, 'asking')
  assert.ok(tools.length > 3)
  assert.equal(resources.length, 1)
})

for (const [era, sessions] of [
  ['legacy', 'shared'],
  ['legacy', 'perClient'],
  ['modern', 'shared'],
  ['modern', 'perClient'],
] as const)
  test(`discovery of a ${era} server with ${sessions} sessions declares all capabilities`, async t => {
    const declared: unknown[] = []
    const lists = await startLists(era, [TOOL], meta => declared.push(meta))
    await discovered(t, lists, sessions)
    const wanted = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
    assert.deepEqual(declared.at(-1), wanted)
  })
