/** Two callers learn nothing of what only the other may use, whatever they ask: over HTTP, in both eras, against a running router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Profile } from '../../core/catalog/router-config.ts'
import type { JsonObject } from '../../core/json.ts'
import { codeOf } from '../code/script-gateway.ts'
import { echo, type FixtureServer } from '../meta/fixture.ts'
import { type Attempt, attempts, leaks } from './access-attempts.ts'
import { BLUE, initialize, modernised, PROFILES, RED, rule, SERVERS, send, start } from './access-router.ts'
import { BARE, HANDLED, SCRIPT_TOOLS, scriptAttempts, scriptOf, withoutTimes } from './access-scripts.ts'

const ALL: readonly Profile[] = [...PROFILES, 'code']
/** Every profile, each with scripts. */
const CONFIG = { allowedProfiles: ALL, code: codeOf() }
const PATHS = [...ALL.map(profile => `/mcp/${profile}`), '/servers/vermilion/mcp', '/servers/cobalt/mcp']
const CALLERS = [
  [RED, 'vermilion', 'cobalt'],
  [BLUE, 'cobalt', 'vermilion'],
] as const
const RULES = { rules: [rule('red', 'vermilion'), rule('blue', 'cobalt')] }
const LIST: Attempt = { method: 'tools/list', params: {} }
const DISCOVER: Attempt = { method: 'server/discover', params: {} }

/** Requests in flight at a time. */
const AT_ONCE = 16

async function forEach<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const remaining = items.values()
  const worker = async () => {
    for (const item of remaining) await run(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

type Asking = { origin: string; path: string; token: string }

const inEra = {
  '2025': ({ origin, path, token }: Asking, request: Attempt) => send(origin, request, { path, token }),
  '2026': ({ origin, path, token }: Asking, request: Attempt) => {
    const { message, headers } = modernised(request)
    return send(origin, message, { path, token, headers })
  },
}

for (const [era, ask] of Object.entries(inEra)) {
  test(`two callers of ${era} learn nothing of what only the other may use`, async t => {
    const { origin, reached } = await start(t, RULES, CONFIG)
    let asked = 0
    for (const [token, own, canary] of CALLERS) {
      for (const path of PATHS) {
        await forEach([initialize as Attempt, DISCOVER, ...attempts(canary)], async request => {
          const { text, headers } = await ask({ origin, path, token }, request)
          const answer = `${text} ${[...headers].flat().join(' ')}`
          assert.ok(
            !leaks(answer, canary, { request, path }),
            `${path} ${JSON.stringify(request)}: ${answer}`,
          )
          asked++
        })
        const { text } = await ask({ origin, path, token }, LIST)
        if (path === '/mcp/direct') assert.match(text, new RegExp(`${own}__${own}_get`))
      }
      assert.deepEqual(
        reached.filter(({ server }) => server === canary),
        [],
      )
      const found = await ask(
        { origin, path: '/mcp', token },
        {
          method: 'tools/call',
          params: { name: 'discover_mcp_tools', arguments: { query: `get ${own}` } },
        },
      )
      assert.match(found.text, new RegExp(`${own}:${own}_get`))
      reached.length = 0
    }
    assert.ok(asked > 2_000)
  })

  test(`scripts of two callers of ${era} learn nothing of what only the other may use`, async t => {
    const { origin, reached } = await start(t, RULES, CONFIG)
    for (const [token, own, canary] of CALLERS) {
      for (const profile of ALL) {
        const [path, tool] = [`/mcp/${profile}`, SCRIPT_TOOLS[profile]]
        const forms = profile === 'code' ? [BARE, HANDLED] : [BARE]
        for (const request of scriptAttempts(tool, canary, forms)) {
          const { status, text } = await ask({ origin, path, token }, request)
          assert.ok(status === 200 && text.includes('portolan.dev/script'), `a script ran: ${text}`)
          assert.ok(!leaks(text, canary, request), `${path} ${JSON.stringify(request)}: ${text}`)
        }
        assert.deepEqual(reached, [])
        const found = await ask(
          { origin, path, token },
          scriptOf(tool, `await tools.${own}.${own}_get({}); return discover("get ${own}")`),
        )
        assert.match(found.text, new RegExp(`tools\\.${own}\\.${own}_get`))
        assert.deepEqual(
          reached.splice(0).map(({ server }) => server),
          [own],
        )
      }
    }
  })

  test(`a caller of ${era} gets the same bytes as from a gateway that has only what the caller may use`, async t => {
    const red = { rules: [rule('red', 'vermilion')] }
    const { origin: whole } = await start(t, red, CONFIG)
    const { origin: part } = await start(t, red, CONFIG, echo, {
      vermilion: SERVERS.vermilion as FixtureServer,
    })
    const requests = [initialize, DISCOVER, ...['vermilion', 'cobalt', 'vermillion'].flatMap(attempts)]
    for (const path of PATHS) {
      await forEach(requests as Attempt[], async request => {
        const [fromWhole, fromPart] = await Promise.all(
          [whole, part].map(async origin => {
            const { status, text } = await ask({ origin, path, token: RED }, request)
            return [status, text.replace(/search_time_ms\W+[\d.]+/g, '')]
          }),
        )
        assert.deepEqual(fromWhole, fromPart, `${path} ${JSON.stringify(request)}`)
      })
    }
    const [tool, path] = [SCRIPT_TOOLS.code, '/mcp/code']
    const scripts = ['vermilion', 'cobalt', 'vermillion'].flatMap(name =>
      scriptAttempts(tool, name, [HANDLED]),
    )
    for (const request of scripts) {
      const [fromWhole, fromPart] = await Promise.all(
        [whole, part].map(async origin =>
          withoutTimes((await ask({ origin, path, token: RED }, request)).text),
        ),
      )
      assert.equal(fromWhole, fromPart, JSON.stringify(request))
    }
  })

  test(`declarations for a caller of ${era} do not show what results of another looked like`, async t => {
    const shared: FixtureServer = {
      offers: {
        tools: [{ name: 'rows', description: 'All rows', inputSchema: { type: 'object', properties: {} } }],
      },
    }
    const both = {
      rules: [
        rule('red', 'vermilion', { servers: ['vermilion', 'shared'] }),
        rule('blue', 'cobalt', { servers: ['cobalt', 'shared'] }),
      ],
    }
    const servers = { ...SERVERS, shared }
    const { origin, change } = await start(t, { rules: [] }, CONFIG, echo, servers)
    const path = '/mcp/code'
    const learn = scriptOf(SCRIPT_TOOLS.code, 'return tools.shared.rows({ vermilionId: 1 })')
    const searches: Attempt[] = [
      { method: 'tools/call', params: { name: 'find_tools', arguments: { query: 'all rows' } } },
      scriptOf(SCRIPT_TOOLS.code, 'return discover("all rows")'),
    ]
    const declared = async () => {
      const answers = searches.map(request => ask({ origin, path, token: BLUE }, request))
      const texts = (await Promise.all(answers)).map(({ text }) => text)
      for (const text of texts) assert.match(text, /tools\.shared\.rows\(\)/)
      return texts
    }
    await ask({ origin, path, token: RED }, learn)
    for (const text of await declared()) assert.match(text, /vermilionId: number.*\/\/ seen/)
    await change(both, 2, servers)
    await ask({ origin, path, token: RED }, learn)
    for (const text of await declared()) assert.doesNotMatch(text, /vermilion|seen/)
  })
}

test('in a batch, only the messages that the caller may send are answered with results', async t => {
  const { origin, reached } = await start(t, RULES, CONFIG)
  const headers = { 'mcp-protocol-version': '2025-03-26' }
  const own = {
    method: 'tools/call',
    params: { name: 'execute_mcp_tool', arguments: { tool_path: 'vermilion:vermilion_get', arguments: {} } },
  }
  const all = attempts('cobalt')
  for (let at = 0; at < all.length; at += 20) {
    const asked = [own, ...all.slice(at, at + 20)]
    const messages = [
      ...asked.map((message, id) => ({ jsonrpc: '2.0', id, ...message })),
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 0 } },
      { jsonrpc: '2.0', id: 'x', result: {} },
    ]
    const response = await fetch(`${origin}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${RED}`,
        ...headers,
      },
      body: JSON.stringify(messages),
    })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    assert.equal((JSON.parse(text) as JsonObject[]).length, asked.length)
    assert.ok(!leaks(text, 'cobalt', asked), text)
  }
  assert.ok(reached.length > 0 && reached.every(({ server }) => server === 'vermilion'))
})
