/** A whole router over HTTP: it gets snapshots, and serves meta-tools, metrics and logs. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Fault } from '../../core/errors.ts'
import { createLog } from '../../core/log.ts'
import type { Explanation } from '../../router/catalog/search/search-index.ts'
import type { Router, RouterOptions } from '../../router/router.ts'
import { startRouter } from '../../router/router.ts'
import { createInProcessSource, type InProcessSource } from '../../router/source/in-process-source.ts'
import { type Answerer, echo, type FixtureServer, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { SERVERS } from '../meta/servers.ts'
import { legacy, post } from './post.ts'

const ONE_TOOL: FixtureServer = {
  offers: { tools: [{ name: 'add', description: 'Adds numbers', inputSchema: { type: 'object' } }] },
}

type Started = {
  router: Router
  source: InProcessSource
  logged: (message: string) => Promise<Record<string, unknown>>
}

async function start(
  t: TestContext,
  answer: Answerer = echo,
  options: Partial<RouterOptions> = {},
): Promise<Started> {
  const source = createInProcessSource()
  const output = new PassThrough({ encoding: 'utf8' })
  const lines: Record<string, unknown>[] = []
  output.on('data', (chunk: string) => {
    for (const line of chunk.trim().split('\n')) lines.push(JSON.parse(line))
    output.emit('line')
  })
  const router = await startRouter({
    source,
    connect: () => upstreamOf(answer),
    host: '127.0.0.1',
    port: 0,
    log: createLog({ destination: output, level: 'debug' }),
    ...options,
  })
  t.after(() => router.close(0))
  const logged = async (message: string) => {
    for (;;) {
      const found = lines.findIndex(line => line.msg === message)
      if (found >= 0) return lines.splice(found, 1)[0] as Record<string, unknown>
      await once(output, 'line')
    }
  }
  return { router, source, logged }
}

test('a call of an unavailable server is reported to onUnavailable, other calls are not', async t => {
  const reported: string[] = []
  const { router, source, logged } = await start(t, echo, { onUnavailable: server => reported.push(server) })
  const failed = { state: 'failed', reason: 'Unreachable', hidden: true } as const
  source.publish(snapshotOf({ up: ONE_TOOL, down: { server: { status: failed } } }, {}, 1))
  await logged('catalog swapped')
  for (const tool_path of ['up:add', 'up:none', 'none:add', 'down:add'])
    await post(
      router.url,
      legacy('tools/call', { name: 'execute_mcp_tool', arguments: { tool_path, arguments: {} } }),
    )
  assert.deepEqual(reported, ['down'])
})

test('a router is ready with its first catalog and serves it to a real client', async t => {
  const { router, source, logged } = await start(t)
  const page = (path: string) => fetch(new URL(path, router.url))
  assert.equal((await page('/readyz')).status, 503)
  assert.equal((await post(router.url, legacy('tools/list'))).status, 503)
  assert.equal(router.catalog(), undefined)
  source.publish(snapshotOf(SERVERS, {}, 1))
  assert.partialDeepStrictEqual(await logged('catalog swapped'), { level: 'info', generation: 1, servers: 2 })
  assert.equal((await page('/readyz')).status, 200)
  const client = new Client({ name: 'test', version: '1' })
  t.after(() => client.close())
  await client.connect(new StreamableHTTPClientTransport(new URL(router.url)))
  assert.equal((await client.listTools()).tools.length, 4)
  const found = await client.callTool({ name: 'discover_mcp_tools', arguments: { query: 'create an issue' } })
  assert.match(JSON.stringify(found.content), /forge:create_issue/)
  const title = { repository: 'a/b', title: 'x' }
  await client.callTool({
    name: 'execute_mcp_tool',
    arguments: { tool_path: 'forge:create_issue', arguments: title },
  })
  assert.partialDeepStrictEqual(await logged('request'), {
    server: 'forge',
    tool: 'create_issue',
    outcome: 'ok',
  })
})

test('the log says why a server gave no answer, but not in words, which may quote arguments', async t => {
  const broken: Answerer = () => {
    throw new Fault('upstream_died', 'the connection broke after "secret"', {
      details: { code: 'ECONNRESET' },
    })
  }
  const { router, source, logged } = await start(t, broken)
  source.publish(snapshotOf({ sums: ONE_TOOL }, {}, 1))
  await logged('catalog swapped')
  const args = { tool_path: 'sums:add', arguments: {} }
  await post(router.url, legacy('tools/call', { name: 'execute_mcp_tool', arguments: args }))
  const line = await logged('request')
  assert.partialDeepStrictEqual(line, {
    outcome: 'upstream_error',
    fault: 'upstream_died',
    cause: 'ECONNRESET',
  })
  assert.doesNotMatch(JSON.stringify(line), /secret/)
})

test('calls are counted and timed by server and tool, tokens by kind, the catalog by generation', async t => {
  const { router, source, logged } = await start(t)
  source.publish(snapshotOf({ sums: ONE_TOOL }, {}, 3))
  await logged('catalog swapped')
  await post(router.url, legacy('tools/list'))
  const args = { tool_path: 'sums:add', arguments: {} }
  await post(router.url, legacy('tools/call', { name: 'execute_mcp_tool', arguments: args }))
  const line = await logged('request')
  assert.partialDeepStrictEqual(line, { server: 'sums', tool: 'add', outcome: 'ok' })
  assert.ok(typeof line.durationMs === 'number' && typeof line.upstreamMs === 'number')
  const metrics = await (await fetch(new URL('/metrics', router.url))).text()
  for (const expected of [
    /^portolan_calls_total\{server="sums",outcome="ok"\} 1$/m,
    /^portolan_tool_calls_total\{server="sums",tool="add"\} 1$/m,
    /^portolan_call_duration_seconds_count\{part="upstream"\} 1$/m,
    /^portolan_upstream_queue_depth\{server="sums"\} 0$/m,
    /^portolan_catalog_generation 3$/m,
    /^portolan_catalog_tools 1$/m,
    /^portolan_servers\{state="ready"\} 1$/m,
    /^portolan_servers\{state="failed"\} 0$/m,
    /^portolan_reload_duration_seconds_count 1$/m,
    /^portolan_list_age_seconds\{server="sums"\} \d/m,
    /^portolan_tokens_direct_total\{profile="hierarchical"\} [1-9]/m,
    /^portolan_tokens_served_total\{profile="hierarchical",kind="definitions"\} [1-9]/m,
    /^process_cpu_seconds_total /m,
  ])
    assert.match(metrics, expected)
})

test('if a catalog cannot be built, the last good one stays, and the next snapshot is used', async t => {
  const { router, source, logged } = await start(t)
  source.publish(snapshotOf({ sums: ONE_TOOL }, {}, 1))
  await logged('catalog swapped')
  source.publish({ ...snapshotOf({}, {}, 2), catalogs: undefined as never })
  source.publish({ generation: 3, config: undefined as never, catalogs: new Map() })
  await logged('catalog could not be built; the last good one stays')
  assert.equal(router.catalog()?.generation, 1)
  source.publish(snapshotOf({ sums: ONE_TOOL }, {}, 4))
  await logged('catalog swapped')
  assert.equal(router.catalog()?.generation, 4)
})

test('no call fails while catalogs are swapped under load', async t => {
  const { router, source, logged } = await start(t)
  source.publish(snapshotOf({ sums: ONE_TOOL }, {}, 1))
  await logged('catalog swapped')
  const args = { tool_path: 'sums:add', arguments: {} }
  const body = legacy('tools/call', { name: 'execute_mcp_tool', arguments: args })
  let reloading = true
  const caller = async () => {
    let calls = 0
    for (; reloading; calls++) {
      const { status, text } = await post(router.url, body)
      assert.equal(status, 200)
      assert.doesNotMatch(text, /isError":true|"error"/)
    }
    return calls
  }
  const callers = [caller(), caller(), caller(), caller()]
  for (let generation = 2; generation <= 60; generation++) {
    const endpoint = { kind: 'local', id: 'sums', revision: `${generation}` } as const
    const other = generation % 2 === 0 ? SERVERS : {}
    source.publish(snapshotOf({ ...other, sums: { ...ONE_TOOL, server: { endpoint } } }, {}, generation))
    await logged('catalog swapped')
    await post(router.url, body)
  }
  reloading = false
  const calls = await Promise.all(callers)
  assert.ok(calls.every(count => count > 0))
})

test('close waits for calls in flight, and may be called again', async t => {
  const arrived = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const { router, source, logged } = await start(t, async () => {
    arrived.resolve()
    await release.promise
    return { result: { content: [{ type: 'text', text: 'finished' }] } }
  })
  source.publish(snapshotOf({ sums: ONE_TOOL }, {}, 1))
  await logged('catalog swapped')
  const answer = post(router.url, legacy('tools/call', { name: 'sums__add', arguments: {} }))
  await arrived.promise
  const closed = router.close(60_000)
  release.resolve()
  assert.match((await answer).text, /finished/)
  await closed
  await router.close()
})

test('the debug pages explain a search, and show the catalog, the pool and what debugStatus adds', async t => {
  const { router, source, logged } = await start(t, echo, { debugStatus: () => ({ discovery: [] }) })
  source.publish(snapshotOf({ sums: ONE_TOOL }, {}, 1))
  await logged('catalog swapped')
  const asked = new URL('/debug/explain?query=add+numbers&limit=1', router.url)
  const why = (await (await fetch(asked)).json()) as Explanation
  assert.deepEqual([why.query, why.hits.map(({ tool }) => tool)], ['add numbers', ['add']])
  const status = await (await fetch(new URL('/debug/status', router.url))).json()
  assert.partialDeepStrictEqual(status, { generation: 1, totals: { tools: 1 }, discovery: [] })
  assert.equal((status as { pool: { server: string }[] }).pool[0]?.server, 'sums')
})
