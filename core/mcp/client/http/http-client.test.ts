/** Requests to an upstream where some connections fail, such as a Service with a dead pod. */
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { freePort } from '../../../../test/support/free-port.ts'
import { serve } from '../../../../test/upstreams/http/serve.ts'
import { systemClock } from '../../../async.ts'
import { CLOSING_HEADER, CLOSING_RESPONSE } from '../../protocol/closing-header.ts'
import { createHttpClient } from './http-client.ts'

const CONNECT_FAILED = 'undici:client:connectError'
const request = { method: 'POST', headers: {}, body: '{}', maxBytes: 1_000 } as const

test('a request that could not connect is repeated once', async t => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/mcp`
  const http = createHttpClient(
    { url, transport: 'streamable-http', sessions: 'shared', startTimeoutMs: 1 },
    { clock: systemClock },
  )
  const server = createServer((_request, response) => response.end('here'))
  t.after(() => Promise.all([http.close(), server.close()]))
  let failures = 0
  const failed = () => void failures++
  subscribe(CONNECT_FAILED, failed)
  t.after(() => unsubscribe(CONNECT_FAILED, failed))
  await assert.rejects(http.send(request, AbortSignal.timeout(5_000)), { code: 'upstream_unreachable' })
  assert.equal(failures, 2)

  // Without a host, `listen` takes effect before it returns.
  const revive = () => void (server.listening || server.listen(port))
  subscribe(CONNECT_FAILED, revive)
  t.after(() => unsubscribe(CONNECT_FAILED, revive))
  assert.equal((await http.send(request, AbortSignal.timeout(5_000))).text, 'here')
  assert.equal(failures, 3)
})

/** What a server answers at each path: a status, and where it redirects to. */
type Site = Record<string, number | [number, string]>

/** The paths that each call asks for; `calls`: what the server is like in the meantime. */
async function pathsAsked(t: TestContext, calls: Site[]) {
  const asked: string[][] = []
  let now: Site = {}
  const { send } = await open(t, ({ url = '' }, response) => {
    asked.at(-1)?.push(url)
    const [status, location] = [now[url] ?? 404].flat() as [number, string?]
    response.writeHead(status, location === undefined ? {} : { location }).end()
  })
  for (now of calls) {
    asked.push([])
    await send()
  }
  return asked
}

test('a temporary redirect to another path is followed each time, wherever it leads', async t => {
  for (const status of [200, 503]) {
    const maintenance: Site = { '/mcp': [307, '/maintenance'], '/maintenance': status }
    assert.deepEqual(await pathsAsked(t, [maintenance, { '/mcp': 200 }]), [
      ['/mcp', '/maintenance'],
      ['/mcp'],
    ])
  }
})

test('a redirect that only adds a slash is remembered, until its target fails', async t => {
  const slash: Site = { '/mcp': [307, '/mcp/'], '/mcp/': 200 }
  assert.deepEqual(await pathsAsked(t, [slash, slash, { '/mcp': 200 }, { '/mcp': 200 }]), [
    ['/mcp', '/mcp/'],
    ['/mcp/'],
    ['/mcp/'],
    ['/mcp'],
  ])
})

test('a permanent redirect is remembered once its target works, until it leads to one that fails', async t => {
  const moved = (status: number): Site => ({ '/mcp': [308, '/new'], '/new': status })
  assert.deepEqual(await pathsAsked(t, [moved(502), moved(200), moved(200), moved(502), moved(200)]), [
    ['/mcp', '/new'],
    ['/mcp', '/new'],
    ['/new'],
    ['/new'],
    ['/mcp', '/new'],
  ])
  const away: Site = { '/new': [307, '/maintenance'], '/maintenance': 503 }
  assert.deepEqual(await pathsAsked(t, [moved(200), away, moved(200)]), [
    ['/mcp', '/new'],
    ['/new', '/maintenance'],
    ['/mcp', '/new'],
  ])
})

/** A server whose requests `listener` answers, its connections in the order in which they were opened, and a client. */
async function open(t: TestContext, listener: RequestListener) {
  const sockets: Socket[] = []
  const server = createServer(listener)
  server.on('connection', (socket: Socket) => sockets.push(socket))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const http = createHttpClient(
    { url, transport: 'streamable-http', sessions: 'shared', startTimeoutMs: 1 },
    { clock: systemClock },
  )
  t.after(() => Promise.all([http.close(), server.close()]))
  return { sockets, send: () => http.send(request, AbortSignal.timeout(5_000)) }
}

test('a request that is sent while its idle connection is closed is sent again on another one', async t => {
  const { sockets, send } = await open(t, (_request, response) => response.end('here'))
  await send()
  sockets[0]?.end(CLOSING_RESPONSE)
  sockets[0]?.destroy()
  assert.equal((await send()).text, 'here')
  assert.equal(sockets.length, 2)
})

test('a request that is refused on each idle connection to a pod that ends is sent on a new one', async t => {
  const ending = new Set<Socket>()
  let waiting = 3
  const together = Promise.withResolvers<void>()
  const { sockets, send } = await open(t, async (request, response) => {
    if (ending.has(request.socket)) {
      response.writeHead(503, { [CLOSING_HEADER]: 'true', connection: 'close' }).end()
      return
    }
    if (--waiting === 0) together.resolve()
    await together.promise
    response.end('here')
  })
  await Promise.all([send(), send(), send()])
  // The pool takes connections back in the turn after their answers.
  await turn()
  for (const socket of sockets) ending.add(socket)
  assert.equal(ending.size, 3)
  assert.equal((await send()).text, 'here')
})

test('a password in the URL may have a percent sign that is not encoded', async t => {
  const server = await serve((request, response) => void response.end(request.headers.authorization))
  t.after(() => server.close())
  const url = (password: string) => server.origin.replace('//', `//ann:${password}@`)
  for (const [written, meant] of [
    ['50%', '50%'],
    ['50%%20off', '50% off'],
    ['a%40b', 'a@b'],
  ] as const) {
    const spec = { url: url(written), transport: 'streamable-http', sessions: 'shared' } as const
    const http = createHttpClient({ ...spec, startTimeoutMs: 1 }, { clock: systemClock })
    t.after(() => http.close())
    const { text } = await http.send(request, AbortSignal.timeout(5_000))
    assert.equal(Buffer.from(text.replace('Basic ', ''), 'base64').toString(), `ann:${meant}`)
  }
})
