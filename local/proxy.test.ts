/** A local gateway behind an HTTP proxy from the usual environment variables. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../test/support/local-gateway.ts'
import { createWorkspace } from '../test/support/manifests.ts'
import { startProxy } from '../test/support/proxy.ts'
import { startSdk1 } from '../test/upstreams/http/sdk1.ts'

test('the tools of a remote server are read through the proxy of the environment', async t => {
  const server = await startSdk1('stateful')
  const proxy = await startProxy(Number(new URL(server.url).port))
  t.after(() => Promise.all([server.close(), proxy.close()]))
  const space = createWorkspace()
  t.after(() => space.remove())
  space.write('far', { remote: { url: 'http://far.example.test/mcp' } })
  space.write('near', { remote: { url: server.url } })
  const env = { http_proxy: proxy.url }
  const gateway = await startTestGateway(space, { env })
  t.after(() => gateway.close())
  const states = gateway.status().servers.map(({ name, tools }) => [name, tools])
  assert.deepEqual(states, [
    ['far', 6],
    ['near', 6],
  ])
  assert.deepEqual([...new Set(proxy.connects.map(({ to }) => to))], ['far.example.test:80'])
})

test('an invalid proxy URL is reported before anything starts, without its credentials', async t => {
  const space = createWorkspace()
  t.after(() => space.remove())
  const env = { HTTPS_PROXY: 'socks5://ann:geheim@proxy.example.com' }
  await assert.rejects(startTestGateway(space, { env }), {
    code: 'bad_request',
    message: 'HTTPS_PROXY must be the URL of an HTTP proxy, such as http://proxy.example.com:3128',
  })
})
