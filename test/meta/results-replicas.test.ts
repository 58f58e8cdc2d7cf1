/** Replicas of a router: the rest of a result that one of them has cut can be read through the others. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createLog } from '../../core/log.ts'
import { ownerAt } from '../../router/http/owner.ts'
import { createHandleSigner } from '../../router/meta/results/handle.ts'
import type { Router } from '../../router/router.ts'
import { startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { freePort } from '../support/free-port.ts'
import { callTool, type ToolAnswer } from '../support/mcp.ts'
import { until } from '../support/until.ts'
import { serverOf, snapshotOf, upstreamOf } from './fixture.ts'
import { forge, ISSUE } from './servers.ts'

/** With characters of two and four bytes, which no cut may split. */
const TEXT = Array.from({ length: 300 }, (_, at) => `Zeile ${at}: größer als man denkt 😀\n`).join('')

test('a result that one replica cut can be read through the other, until the first is gone', async t => {
  const [first, second] = [await startReplica(t, 'one key'), await startReplica(t, 'one key')]
  let answer = await callTool(first.url, 'execute_mcp_tool', ISSUE)
  const parts = [answer.content[0]?.text ?? '']
  let reads = 0
  for (let uri = handleIn(answer); uri !== undefined; uri = handleIn(answer)) {
    answer = await callTool([second, first][reads++ % 2]?.url ?? '', 'read_mcp_resource', { uri })
    assert.equal(answer.isError, undefined, answer.content[0]?.text)
    parts.push(answer.content[0]?.text ?? '')
  }
  assert.equal(parts.join(''), TEXT)
  assert.ok(reads > 5)
  const cut = await callTool(first.url, 'execute_mcp_tool', ISSUE)
  await first.close(0)
  const gone = await callTool(second.url, 'read_mcp_resource', { uri: handleIn(cut) })
  assert.equal(gone.isError, true)
  assert.match(gone.content[0]?.text ?? '', /replica that kept that result is gone\. Call the tool again/)
})

test('a replica with another key cannot read a result that is still kept', async t => {
  const first = await startReplica(t, 'one key')
  const second = await startReplica(t, 'one key')
  const stranger = await startReplica(t, 'another key')
  const uri = handleIn(await callTool(first.url, 'execute_mcp_tool', ISSUE))
  const refused = await callTool(stranger.url, 'read_mcp_resource', { uri })
  assert.equal(refused.isError, true)
  assert.match(refused.content[0]?.text ?? '', /no longer kept/)
  const read = await callTool(second.url, 'read_mcp_resource', { uri })
  assert.equal(read.isError, undefined, read.content[0]?.text)
})

test('the results of a replica that has restarted are no longer kept', async t => {
  const first = await startReplica(t, 'one key')
  const uri = handleIn(await callTool(first.url, 'execute_mcp_tool', ISSUE))
  const { port } = first.address
  await first.close(0)
  const again = await startReplica(t, 'one key', port)
  const second = await startReplica(t, 'one key')
  for (const { url } of [again, second]) {
    const answer = await callTool(url, 'read_mcp_resource', { uri })
    assert.equal(answer.isError, true)
    assert.match(answer.content[0]?.text ?? '', /no longer kept/)
  }
})

test('a result is not read from another program that now has the address of its replica', async t => {
  const asked: string[] = []
  const stranger = createServer(({ method }, response) => {
    asked.push(`${method}`)
    const contents = [{ uri: 'portolan:a', text: 'of another program' }]
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { contents } }))
  }).listen(0, '127.0.0.1')
  await once(stranger, 'listening')
  t.after(() => stranger.close())
  const owner = ownerAt('127.0.0.1', (stranger.address() as AddressInfo).port)
  const replica = await startReplica(t, 'one key')
  const id = createHandleSigner('one key').issue(owner, '')
  const answer = await callTool(replica.url, 'read_mcp_resource', { uri: `portolan|result/${owner}/${id}` })
  assert.equal(answer.isError, true)
  assert.match(answer.content[0]?.text ?? '', /replica that kept that result is gone/)
  assert.deepEqual(asked, ['GET'])
})

async function startReplica(t: TestContext, sessionKey: string, port?: number): Promise<Router> {
  const source = createInProcessSource()
  const limits = { ...serverOf('forge').limits, maxResultBytes: 1_000 }
  source.publish(snapshotOf({ forge: { ...forge, server: { limits } } }, {}, 1))
  const router = await startRouter({
    source,
    connect: () => upstreamOf(() => ({ result: { content: [{ type: 'text', text: TEXT }] } })),
    host: '127.0.0.1',
    port: port ?? (await freePort()),
    address: '127.0.0.1',
    sessionKey,
    log: createLog({ level: 'silent' }),
  })
  t.after(() => router.close(0))
  await until(() => router.catalog())
  return router
}

function handleIn({ content }: ToolAnswer): string | undefined {
  return /portolan\|result\/[^"]+/.exec(content[1]?.text ?? '')?.[0]
}
