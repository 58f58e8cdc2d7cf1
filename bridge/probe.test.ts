/** The probe against real servers of both eras, and against other HTTP servers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSdk1 } from '../test/upstreams/http/sdk1.ts'
import { startSdk2 } from '../test/upstreams/http/sdk2.ts'
import { readJson, serve } from '../test/upstreams/http/serve.ts'
import { probe } from './probe.ts'

const TIMEOUT_MS = 10_000

test('servers of SDK 1.x and 2.x are alive, and the probe leaves no session open', async t => {
  for (const mode of ['stateful', 'stateless'] as const) {
    for (const json of [true, false]) {
      const server = await startSdk1(mode, { json })
      t.after(() => server.close())
      assert.equal(await probe(server.url, TIMEOUT_MS), undefined, `${mode} ${json}`)
      assert.equal(server.log.includes('DELETE'), mode === 'stateful')
    }
  }
  const modern = await startSdk2()
  t.after(() => modern.close())
  assert.equal(await probe(modern.url, TIMEOUT_MS), undefined)
})

test('a server that speaks only 2026-07-28 is alive', async t => {
  const { origin, close } = await serve(async (request, response) => {
    const { method } = (await readJson(request)) as { method: string }
    const discovers = method === 'server/discover' && request.headers['mcp-method'] === method
    const error = {
      code: -32022,
      message: 'Unsupported protocol version',
      data: { supported: ['2026-07-28'] },
    }
    response.writeHead(discovers ? 200 : 400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...(discovers ? { result: {} } : { error }) }))
  })
  t.after(close)
  assert.equal(await probe(`${origin}/mcp`, TIMEOUT_MS), undefined)
})

test('a server that requires credentials is alive', async t => {
  const server = await startSdk1('stateless', { accepts: () => false })
  t.after(() => server.close())
  assert.equal(await probe(server.url, TIMEOUT_MS), undefined)
})

test('a web page, an error and a redirect are not MCP', async t => {
  let status = 200
  const { origin, close } = await serve((_request, response) => {
    response.writeHead(status, { 'content-type': 'text/html', location: 'http://127.0.0.1:1/' })
    response.end('<p>{"jsonrpc":"2.0","id":1,"result":{}}')
  })
  t.after(close)
  for (status of [200, 302, 404, 500]) {
    const why = await probe(origin, TIMEOUT_MS)
    assert.equal(why, `the answer to initialize has status ${status} and is not MCP`)
  }
})

test('a closed port and a silent server have different errors', async t => {
  const gone = await serve(() => {})
  await gone.close()
  assert.match((await probe(gone.origin, TIMEOUT_MS)) ?? '', /ECONNREFUSED/)
  const silent = await serve(() => {})
  t.after(silent.close)
  assert.equal(await probe(silent.origin, 50), 'no answer within 0.05 s')
})
