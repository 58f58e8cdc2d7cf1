/**
 * Messages that a stdio server sends too late, when their call is over or cancelled, do not reach another caller: over HTTP, against a
 * running router and a running bridge.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import type { JsonObject } from '../../core/json.ts'
import { createConnector } from '../../core/mcp/client/connector.ts'
import { startTestBridge } from '../support/bridge.ts'
import { BLUE, initialize, modernised, RED, send, start } from './access-router.ts'
import { LEGACY_HEADERS } from './post.ts'

const CANARY = 'canary of red'
const BEARER = 'token-of-the-bridge'
const LOUD = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' }

/** A router in front of a bridge whose child speaks one era, for the callers red and blue. */
async function startBoth(t: TestContext, mode: string) {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-late-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const bearerFile = join(folder, 'token')
  writeFileSync(bearerFile, BEARER)
  const bridge = await startTestBridge(t, { mode, bearerFile })
  const bearer = { name: 'mcp-late', key: 'token' }
  const endpoint = {
    kind: 'http',
    url: bridge.url,
    transport: 'streamable-http',
    revision: '1',
    bearer,
  } as const
  const tools = ['keep', 'has_kept', 'tell_kept', 'seen'].map(name => ({
    name,
    inputSchema: { type: 'object' },
  }))
  const secret = () => ({ token: BEARER })
  const connect = createConnector({ secret, clock: systemClock })
  const servers = { late: { server: { endpoint }, offers: { tools } } }
  const { origin } = await start(t, {}, {}, undefined, servers, { connect, clock: systemClock })
  const ask = async (
    token: string,
    { message, headers }: { message: object; headers: object },
    signal?: AbortSignal,
  ) => {
    const response = await fetch(`${origin}/mcp`, {
      method: 'POST',
      signal,
      headers: { ...LEGACY_HEADERS, authorization: `Bearer ${token}`, ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
    })
    return response.text()
  }
  const session = async (token: string) => ({
    'mcp-session-id': (await send(origin, initialize, { token })).headers.get('mcp-session-id') ?? '',
  })
  const call = (tool: string, args: JsonObject) => ({
    method: 'tools/call',
    params: {
      name: 'execute_mcp_tool',
      arguments: { tool_path: `late:${tool}`, arguments: args },
      _meta: LOUD,
    },
  })
  return { ask, session, call }
}

for (const mode of ['slow-modern', 'polite'])
  for (const ends of ['over', 'cancelled'] as const)
    test(`messages of a shared child in mode ${mode} about a call that is ${ends} reach no other caller`, async t => {
      const { call, ask, session } = await startBoth(t, mode)
      const gone = new AbortController()
      const keep = call('keep', { text: CANARY, answer: ends === 'over' ? 'yes' : '' })
      const kept = ask(RED, modernised(keep), gone.signal).catch(() => 'gone')
      if (ends === 'over') assert.match(await kept, /kept/)
      else {
        const has = modernised(call('has_kept', {}))
        while (!/something/.test(await ask(BLUE, has)));
        gone.abort()
        assert.equal(await kept, 'gone')
        const seen = modernised(call('seen', {}))
        while (!/notifications\/cancelled/.test(await ask(BLUE, seen)));
      }
      const tell = call('tell_kept', {})
      const headers = await session(BLUE)
      for (const request of [modernised(tell), { message: tell, headers }, modernised(tell)]) {
        const text = await ask(BLUE, request)
        assert.match(text, /told/)
        assert.doesNotMatch(text, new RegExp(CANARY))
      }
    })
