/** Sends broken requests to a whole router, then checks that it works as before: no crash, no logged error, nothing left behind. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import type { TestContext } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Agent } from 'undici'
import { createLog } from '../../core/log.ts'
import { startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { echo, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { SERVERS } from '../meta/servers.ts'
import { callTool } from '../support/mcp.ts'
import { until } from '../support/until.ts'
import { type BrokenRequest, brokenBytes, brokenRequests } from './broken-requests.ts'
import { beginSession } from './caller.ts'
import { END, talk } from './raw.ts'

const SEED = 20_260_728
const AT_A_TIME = 16
const INTERNAL_ERROR = '-32603'
const MAX_HEAP_GROWTH_BYTES = 24 * 1024 * 1024

/** `count` requests, a fifth of them as bytes on a socket. */
export async function fuzz(t: TestContext, count: number): Promise<void> {
  // Other tests of this process may have sockets too.
  const socketsBefore = tcpResources()
  const { url, origin, errors, close } = await startFuzzed(t)
  const session = (await beginSession(url))['mcp-session-id'] ?? ''
  const agent = new Agent({ connections: AT_A_TIME })
  const run = async (count: number, seed: number) => {
    const requests = brokenRequests(session, Math.ceil(count * 0.8), seed)
    await eachOf(requests, request => sendRequest(agent, origin, request))
    await eachOf(brokenBytes(session, Math.floor(count * 0.2), seed), bytes => sendBytes(origin, bytes))
  }
  await run(Math.ceil(count / 10), SEED + 1)
  const before = heapBytes()
  await run(count, SEED)
  const growth = heapBytes() - before
  assert.ok(growth < MAX_HEAP_GROWTH_BYTES, `${growth} more bytes on the heap`)
  const { tools } = JSON.parse(
    (await callTool(url, 'discover_mcp_tools', { query: 'create an issue' })).content[0]?.text ?? '',
  )
  assert.equal(tools[0].tool_path, 'forge:create_issue')
  await agent.close()
  assert.deepEqual(errors(), [])
  // Nothing is in flight: there is nothing to wait for.
  const closing = performance.now()
  await close()
  assert.ok(performance.now() - closing < 5_000)
  await turns(10)
  assert.ok(
    tcpResources() <= socketsBefore,
    `${tcpResources()} TCP resources are left, ${socketsBefore} were there before`,
  )
}

function tcpResources(): number {
  return process.getActiveResourcesInfo().filter(name => name.startsWith('TCP')).length
}

async function startFuzzed(t: TestContext) {
  const source = createInProcessSource()
  source.publish(
    snapshotOf(SERVERS, { allowedProfiles: ['search', 'registry', 'direct'], exposeServers: true }, 1),
  )
  const logged = new PassThrough()
  const router = await startRouter({
    source,
    connect: () => upstreamOf(echo),
    host: '127.0.0.1',
    port: 0,
    log: createLog({ level: 'error', destination: logged }),
  })
  t.after(() => router.close(0))
  await until(() => router.catalog())
  const errors = () =>
    String(logged.read() ?? '')
      .split('\n')
      .filter(Boolean)
  return { url: router.url, origin: new URL(router.url).origin, errors, close: () => router.close(60_000) }
}

async function sendRequest(agent: Agent, origin: string, { method, path, headers, body }: BrokenRequest) {
  const answer = await agent.request({ origin, path, method: method as 'POST', headers, body })
  const sent = `${method} ${path} ${JSON.stringify(headers)} ${Buffer.from(body ?? [])
    .toString()
    .slice(0, 500)}`
  assert.ok(answer.statusCode < 500, `${answer.statusCode} for ${sent}`)
  if (answer.headers['content-type'] === 'text/event-stream') {
    for await (const _chunk of answer.body) break
    return
  }
  const text = await answer.body.text()
  assert.ok(!text.includes(INTERNAL_ERROR), `${text.slice(0, 300)} for ${sent}`)
  if (answer.headers['content-type'] === 'application/json' && text !== '') JSON.parse(text)
}

async function sendBytes(origin: string, bytes: Uint8Array): Promise<void> {
  const text = await talk(origin, bytes, END)
  const sent = Buffer.from(bytes).toString().slice(0, 1_000)
  assert.ok(text === '' || /^HTTP\/1\.1 [1-4]\d\d /.test(text), `${text.slice(0, 300)} for ${sent}`)
  assert.ok(!text.includes(INTERNAL_ERROR), `${text.slice(0, 300)} for ${sent}`)
}

async function eachOf<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  await Promise.all(
    Array.from({ length: AT_A_TIME }, async () => {
      for (const item of rest) await run(item)
    }),
  )
}

async function turns(count: number): Promise<void> {
  for (let at = 0; at < count; at++) await new Promise(resolve => setImmediate(resolve))
}

function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
